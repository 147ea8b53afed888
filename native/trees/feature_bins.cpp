#include "trees/feature_bins.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <span>

#include "common/simd.hpp"

namespace rankgrove {

float key_value(uint32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) ? 0x80000000u : 0xffffffffu));
}

void sort_keys(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch) {
  constexpr int kBits = 11;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  if (keys.size() < 1024) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  std::vector<uint32_t> counts(3 << kBits, 0);
  for (const uint32_t key : keys) {
    ++counts[key & kMask];
    ++counts[(1u << kBits) + ((key >> kBits) & kMask)];
    ++counts[(2u << kBits) + (key >> (2 * kBits))];
  }
  scratch.resize(keys.size());
  for (int pass = 0; pass < 3; ++pass) {
    uint32_t* count = counts.data() + (pass << kBits);
    const int shift = pass * kBits;
    if (count[(keys[0] >> shift) & kMask] == keys.size()) continue;
    uint32_t position = 0;
    for (uint32_t digit = 0; digit <= kMask; ++digit) {
      const uint32_t n = count[digit];
      count[digit] = position;
      position += n;
    }
    for (const uint32_t key : keys) scratch[count[(key >> shift) & kMask]++] = key;
    keys.swap(scratch);
  }
}

namespace {

// A float32 strictly between two distinct values, near their middle; `low` itself if the two are
// neighbours in float32.
float mid_point(float low, float high) {
  if (std::isinf(high)) return FLT_MAX;
  const auto middle =
      static_cast<float>(0.5 * (static_cast<double>(low) + static_cast<double>(high)));
  return middle < high ? middle : low;
}

DistinctValues distinct_values(std::span<const uint32_t> sorted_keys) {
  DistinctValues result;
  for (size_t i = 0; i < sorted_keys.size();) {
    size_t end = i + 1;
    while (end < sorted_keys.size() && sorted_keys[end] == sorted_keys[i]) ++end;
    result.values.push_back(key_value(sorted_keys[i]));
    result.counts.push_back(static_cast<int64_t>(end - i));
    i = end;
  }
  return result;
}

// Takes the keys of one value away, and returns how many there were.
int64_t take_keys(std::vector<uint32_t>& keys, uint32_t key) {
  size_t n_kept = 0;
  for (const uint32_t other : keys) {  // without a branch to guess
    keys[n_kept] = other;
    n_kept += other != key;
  }
  const auto n_taken = static_cast<int64_t>(keys.size() - n_kept);
  keys.resize(n_kept);
  return n_taken;
}

void add_value(DistinctValues& distinct, float value, int64_t count) {
  const auto place = std::lower_bound(distinct.values.begin(), distinct.values.end(), value);
  const auto where = place - distinct.values.begin();
  if (place != distinct.values.end() && *place == value) {
    distinct.counts[where] += count;
    return;
  }
  distinct.values.insert(place, value);
  distinct.counts.insert(distinct.counts.begin() + where, count);
}

// A cut between every two values.
std::vector<float> all_cuts(const std::vector<float>& values) {
  std::vector<float> cuts;
  for (size_t i = 0; i + 1 < values.size(); ++i)
    cuts.push_back(mid_point(values[i], values[i + 1]));
  return cuts;
}

}  // namespace

QuantileCuts::QuantileCuts(int32_t max_bins, const DistinctValues& frequent, int64_t n_rows)
    : max_bins_(max_bins),
      fair_share_(static_cast<double>(n_rows) / max_bins),
      rest_rows_(n_rows),
      rest_bins_(max_bins) {
  for (size_t i = 0; i < frequent.values.size(); ++i) {
    if (!alone(frequent.values[i], frequent.counts[i])) continue;
    rest_rows_ -= frequent.counts[i];
    --rest_bins_;
  }
  share_ = static_cast<double>(rest_rows_) / std::max(rest_bins_, 1);
}

bool QuantileCuts::alone(float value, int64_t count) const {
  return static_cast<double>(count) >= fair_share_ || std::isinf(value);
}

void QuantileCuts::add(float value, int64_t count) {
  const bool is_alone = alone(value, count);
  if (!first_ && cuts.size() + 1 < static_cast<size_t>(max_bins_)) {
    const bool full = static_cast<double>(in_bin_) >= share_;
    const bool before_alone = is_alone && static_cast<double>(in_bin_) >= 0.5 * share_;
    if (last_alone_ || full || before_alone || (is_alone && std::isinf(value))) {
      cuts.push_back(mid_point(last_, value));
      if (!last_alone_) {
        rest_bins_ = std::max(rest_bins_ - 1, 1);
        share_ = static_cast<double>(rest_rows_) / rest_bins_;
      }
      in_bin_ = 0;
    }
  }
  if (!is_alone) {
    rest_rows_ -= count;
    in_bin_ += count;
  }
  first_ = false;
  last_ = value;
  last_alone_ = is_alone;
}

namespace {

std::vector<float> quantile_cuts(const DistinctValues& distinct, int32_t max_bins) {
  const auto& [values, counts] = distinct;
  if (values.size() <= static_cast<size_t>(max_bins)) return all_cuts(values);
  const int64_t n_rows = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  QuantileCuts found(max_bins, distinct, n_rows);
  for (size_t i = 0; i < values.size(); ++i) found.add(values[i], counts[i]);
  return found.cuts;
}

// The values begin..end-1 of a feature as one bin, and the place where it is best divided.
struct GreedyBin {
  size_t begin, end, middle;  // the right part begins at `middle`
  double gain;                // of the sum of logarithms; -infinity if there is one value only

  bool operator<(const GreedyBin& other) const {  // equal gains: the lower bin first
    return gain != other.gain ? gain < other.gain : begin > other.begin;
  }
};

// rows[i] is the number of rows with a value before the i-th.
GreedyBin greedy_bin(const std::vector<int64_t>& rows, size_t begin, size_t end) {
  GreedyBin bin{begin, end, begin, -std::numeric_limits<double>::infinity()};
  if (end - begin < 2) return bin;
  const int64_t half = rows[begin] + (rows[end] - rows[begin]) / 2;
  const auto after = static_cast<size_t>(
      std::upper_bound(rows.begin() + begin + 1, rows.begin() + end, half) - rows.begin());
  const auto log_rows = [&](size_t from, size_t to) {
    return std::log(static_cast<double>(rows[to] - rows[from]));
  };
  for (const size_t middle : {after - 1, after}) {  // on either side of half the rows
    if (middle <= begin || middle >= end) continue;
    const double gain = log_rows(begin, middle) + log_rows(middle, end) - log_rows(begin, end);
    if (gain > bin.gain) bin.middle = middle, bin.gain = gain;
  }
  return bin;
}

// Cuts by the greedy log-sum rule: of all bins, divide the one where that adds most to the sum of
// the logarithms of bins' numbers of rows, at the place nearest to its middle, until there are
// max_bins. An infinity stands alone.
//
//   rows of five values 1 1 1 1 96, three bins: 4 | 96, then 2 | 2 | 96.
std::vector<float> log_sum_cuts(const DistinctValues& distinct, int32_t max_bins) {
  const auto& [values, counts] = distinct;
  if (values.size() <= static_cast<size_t>(max_bins)) return all_cuts(values);
  const bool infinity = std::isinf(values.back());
  const size_t n = values.size() - (infinity ? 1 : 0);
  std::vector<int64_t> rows(n + 1, 0);
  for (size_t i = 0; i < n; ++i) rows[i + 1] = rows[i] + counts[i];
  std::priority_queue<GreedyBin> bins;
  bins.push(greedy_bin(rows, 0, n));
  std::vector<size_t> starts;  // of all bins but the first
  if (infinity) starts.push_back(n);
  while (starts.size() + 1 < static_cast<size_t>(max_bins) && std::isfinite(bins.top().gain)) {
    const GreedyBin bin = bins.top();
    bins.pop();
    starts.push_back(bin.middle);
    bins.push(greedy_bin(rows, bin.begin, bin.middle));
    bins.push(greedy_bin(rows, bin.middle, bin.end));
  }
  std::sort(starts.begin(), starts.end());
  std::vector<float> cuts;
  for (const size_t start : starts) cuts.push_back(mid_point(values[start - 1], values[start]));
  return cuts;
}

}  // namespace

FeatureBins find_feature_bins(std::vector<uint32_t>& keys, const UnlistedValue& unlisted,
                              const BinLimit& limit, std::vector<uint32_t>& scratch) {
  // In many columns most values are 0: these need not be sorted.
  const int64_t n_zeros = take_keys(keys, sort_key(0.0f));
  sort_keys(keys, scratch);
  const auto end = std::lower_bound(keys.begin(), keys.end(), kMissingKey);
  FeatureBins result;
  result.has_missing = end != keys.end();
  DistinctValues distinct = distinct_values({keys.begin(), end});
  if (n_zeros > 0) add_value(distinct, 0.0f, n_zeros);
  if (unlisted.n_rows > 0) {
    if (std::isnan(unlisted.value)) {
      result.has_missing = true;
    } else {
      add_value(distinct, key_value(sort_key(unlisted.value)), unlisted.n_rows);
    }
  }
  if (distinct.values.empty()) return result;
  result.has_infinity = std::isinf(distinct.values.back());
  result.cuts = find_cuts(distinct, limit);
  return result;
}

std::vector<float> find_cuts(const DistinctValues& distinct, const BinLimit& limit) {
  return limit.rule == BinRule::kQuantile ? quantile_cuts(distinct, limit.max_bins)
                                          : log_sum_cuts(distinct, limit.max_bins);
}

std::shared_ptr<const Bins> join_bins(const std::vector<FeatureBins>& found,
                                      const std::vector<float>& fill) {
  auto bins = std::make_shared<Bins>();
  bins->fill = fill;
  bins->offsets.push_back(0);
  for (const FeatureBins& feature : found) {
    bins->cuts.insert(bins->cuts.end(), feature.cuts.begin(), feature.cuts.end());
    bins->offsets.push_back(static_cast<int64_t>(bins->cuts.size()));
    bins->has_missing.push_back(feature.has_missing);
    bins->has_infinity.push_back(feature.has_infinity);
  }
  return bins;
}

CutSearch::CutSearch(const Bins& bins, int32_t feature) {
  const size_t n = bins.offsets[feature + 1] - bins.offsets[feature];
  const size_t length = std::max<size_t>(std::bit_ceil(n + 1) - 1, 1);
  half_ = static_cast<uint32_t>(length + 1) / 2;
  const bool grouped = n <= kGrouped;
  cuts_.assign(grouped ? kGroup * kGroup : length, std::numeric_limits<float>::infinity());
  std::copy_n(bins.cuts.begin() + bins.offsets[feature], n, cuts_.begin());
  for (size_t group = 1; grouped && group <= kGroup; ++group) {
    last_.push_back(cuts_[group * kGroup - 1]);
  }
}

namespace {

#if RANKGROVE_X86

// How many of 16 numbers lie below the value.
RANKGROVE_AVX512 inline uint32_t count_below(__m512 numbers, __m512 value) {
  return std::popcount(static_cast<uint32_t>(_mm512_cmp_ps_mask(numbers, value, _CMP_LT_OQ)));
}

template <typename Code>
RANKGROVE_AVX512 void find_in_groups_avx512(const float* cuts, const float* last,
                                            const float* values, int64_t n, Code* codes) {
  const __m512 ends = _mm512_loadu_ps(last);
  for (int64_t i = 0; i < n; ++i) {
    const __m512 value = _mm512_set1_ps(values[i]);
    const uint32_t before = 16 * count_below(ends, value);
    codes[i] = static_cast<Code>(before + count_below(_mm512_loadu_ps(cuts + before), value));
  }
}

struct Sixteen {
  __m256 low, high;
};

RANKGROVE_AVX2 inline Sixteen load_sixteen(const float* from) {
  return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
}

RANKGROVE_AVX2 inline uint32_t count_below(const Sixteen& numbers, __m256 value) {
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(numbers.low, value, _CMP_LT_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(numbers.high, value, _CMP_LT_OQ));
  return std::popcount(static_cast<uint32_t>(low | high << 8));
}

template <typename Code>
RANKGROVE_AVX2 void find_in_groups_avx2(const float* cuts, const float* last, const float* values,
                                        int64_t n, Code* codes) {
  const Sixteen ends = load_sixteen(last);
  for (int64_t i = 0; i < n; ++i) {
    const __m256 value = _mm256_set1_ps(values[i]);
    const uint32_t before = 16 * count_below(ends, value);
    codes[i] = static_cast<Code>(before + count_below(load_sixteen(cuts + before), value));
  }
}

#endif

}  // namespace

template <typename Code>
void CutSearch::find(const float* values, int64_t n, Code* codes) const {
#if RANKGROVE_X86
  if (!last_.empty() && has_avx512()) {
    find_in_groups_avx512(cuts_.data(), last_.data(), values, n, codes);
    return;
  }
  if (!last_.empty() && has_avx2()) {
    find_in_groups_avx2(cuts_.data(), last_.data(), values, n, codes);
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) codes[i] = static_cast<Code>(code(values[i]));
}

template void CutSearch::find(const float*, int64_t, uint8_t*) const;
template void CutSearch::find(const float*, int64_t, uint16_t*) const;

std::vector<CutSearch> cut_searches(const Bins& bins) {
  std::vector<CutSearch> result;
  for (int32_t f = 0; f < bins.n_features(); ++f) result.emplace_back(bins, f);
  return result;
}

}  // namespace rankgrove
