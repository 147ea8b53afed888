#include "trees/value_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerValue = 12.0;
constexpr int64_t kRowTile = 256;

ValueRuns runs_of(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch) {
  sort_keys(keys, scratch);
  const auto end = std::lower_bound(keys.begin(), keys.end(), kMissingKey);
  ValueRuns runs;
  runs.n_missing = keys.end() - end;
  for (auto first = keys.begin(); first != end;) {
    const auto next = std::find_if(first, end, [&](uint32_t key) { return key != *first; });
    runs.keys.push_back(*first);
    runs.counts.push_back(static_cast<uint32_t>(next - first));
    first = next;
  }
  return runs;
}

}  // namespace

std::vector<ValueRuns> value_runs(const ColumnTable& columns, int64_t n_rows,
                                  std::span<const float> fill, int n_threads) {
  std::vector<ValueRuns> result(columns.columns.size());
  parallel_for(
      std::ssize(result), n_threads, kNanosecondsPerValue * static_cast<double>(n_rows),
      [] { return std::vector<uint32_t>(); },
      [&](int64_t j, std::vector<uint32_t>& scratch) {
        std::vector<uint32_t> keys(n_rows);
        float values[kRowTile];
        for (int64_t tile = 0; tile < n_rows; tile += kRowTile) {
          const int64_t n = std::min(n_rows - tile, kRowTile);
          columns.columns[j].read(tile, nullptr, n, values);
          for (int64_t i = 0; i < n; ++i) {
            const float value = std::isnan(values[i]) ? fill[j] : values[i];
            keys[tile + i] = std::isnan(value) ? kMissingKey : sort_key(value);
          }
        }
        result[j] = runs_of(keys, scratch);
      });
  return result;
}

void RunBins::add(std::span<const uint32_t> keys, std::span<const int64_t> counts) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  for (size_t i = 0; i < order.size();) {
    const uint32_t key = keys[order[i]];
    int64_t count = 0;
    for (; i < order.size() && keys[order[i]] == key; ++i) count += counts[order[i]];
    take(key_value(key), count);
  }
}

// Which rule counts is known when there are more values than bins.
void RunBins::take(float value, int64_t count) {
  last_ = value;
  if (limit_.rule != BinRule::kQuantile ||
      (!many_ && std::ssize(first_.values) < limit_.max_bins)) {
    first_.values.push_back(value);
    first_.counts.push_back(count);
    return;
  }
  if (!many_) {
    many_ = true;
    for (size_t i = 0; i < first_.values.size(); ++i) {
      quantiles_.add(first_.values[i], first_.counts[i]);
    }
  }
  quantiles_.add(value, count);
}

std::vector<float> RunBins::cuts() const {
  return many_ ? quantiles_.cuts : find_cuts(first_, limit_);
}

bool RunBins::has_infinity() const { return !first_.values.empty() && std::isinf(last_); }

}  // namespace rankgrove
