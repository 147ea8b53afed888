#include "forests/sharded/node_sums.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace rankgrove::forests {
namespace {

// Numbers that are ordered as the reals are.
int64_t ordered_key(double value) {
  const auto bits = std::bit_cast<int64_t>(value + 0.0);
  return bits >= 0 ? bits : bits ^ std::numeric_limits<int64_t>::max();
}
double keyed_value(int64_t key) {
  return std::bit_cast<double>(key >= 0 ? key : key ^ std::numeric_limits<int64_t>::max());
}

}  // namespace

void NodeSums::add(const ShardRows& rows, int64_t begin, int64_t end, int64_t* sums,
                   int64_t* maxima) const {
  sums[kRows] = end - begin;
  if (n_counted_ > 0) {
    for (int64_t i = begin; i < end; ++i) {
      sums[kCounts + targets_.label[rows.rows[i]]] += rows.times_of(rows.rows[i]);
    }
    return;
  }
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  double high = kNone;
  double minus_low = kNone;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t row = rows.rows[i];
    const double target = targets_.target[row];
    const int64_t times = rows.times_of(row);
    sums[kDocuments] += times;
    double term = target;
    if (!targets_.weight.empty()) {
      sums[kWeight] += targets_.weight_grid.units(targets_.weight[row]);
      term *= targets_.weight[row];
    }
    sums[kTarget] += times * targets_.target_grid.units(term);
    sums[kRest] += times * targets_.target_grid.rest(term);
    high = std::max(high, target);
    minus_low = std::max(minus_low, -target);
  }
  maxima[kHigh] = ordered_key(high);
  maxima[kLow] = ordered_key(minus_low);
}

NodeSummary NodeSums::summary(std::span<const int64_t* const> sums,
                              std::span<const int64_t* const> maxima) const {
  NodeSummary result;
  std::vector<int64_t> total(n_sums());
  for (const int64_t* part : sums) {
    for (int32_t i = 0; i < n_sums(); ++i) total[i] += part[i];
  }
  result.n_rows = total[kRows];
  if (result.n_rows == 0) return result;
  if (n_counted_ > 0) {
    double sum = 0;
    int32_t n_present = 0;
    for (int32_t c = 0; c < n_counted_; ++c) {
      const int64_t count = total[kCounts + c];
      sum += targets_.class_value[c] * static_cast<double>(count);
      n_present += count > 0;
      result.n_documents += count;
    }
    result.weight = static_cast<double>(result.n_documents);
    result.value = sum / result.weight;
    result.pure = n_present == 1;
    return result;
  }
  int64_t high = maxima[0][kHigh];
  int64_t low = maxima[0][kLow];
  for (const int64_t* part : maxima) {
    high = std::max(high, part[kHigh]);
    low = std::max(low, part[kLow]);
  }
  result.high = keyed_value(high);
  result.low = -keyed_value(low) + 0.0;
  result.pure = result.low == result.high;
  result.n_documents = total[kDocuments];
  result.weight = targets_.weight.empty() ? static_cast<double>(result.n_documents)
                                          : targets_.weight_grid.value(total[kWeight]);
  const SumGrid& grid = targets_.target_grid;
  const double sum = grid.with_rests(grid.value(total[kTarget]), total[kRest]);
  result.value = result.pure ? result.low : sum / result.weight;
  return result;
}

}  // namespace rankgrove::forests
