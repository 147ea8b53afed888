#include "trees/histogram_pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "common/category_bits.hpp"
#include "common/parallel.hpp"
#include "common/simd.hpp"

namespace rankgrove {
namespace {

RANKGROVE_SIMD void subtract_bins(const int64_t* __restrict part, int32_t n,
                                  int64_t* __restrict whole) {
  for (int32_t b = 0; b < n; ++b) whole[b] -= part[b];
}

// Bins that a search has scaled down, in buffers that each thread reuses.
struct ScaledBins {
  std::vector<GradientSums> sums;
  std::vector<int64_t> words, row_counts;
  GradientUnits units;
};

ScaledBins& scaled_bins() {
  thread_local ScaledBins space;
  return space;
}

int64_t shifted(int64_t value, int shift) {  // to the nearest
  return shift == 0 ? value : (value + (int64_t{1} << (shift - 1))) >> shift;
}

}  // namespace

HistogramPool::HistogramPool(const GrowthState& state)
    : state_(state), store_(*state.binned, state.layout, state.n_threads) {
  if (!state.wide) return;
  for (const size_t bound : state.searched.bounds) wide_bounds_.push_back(2 * bound);
}

int64_t* HistogramPool::acquire() {
  if (free_.empty()) {
    const auto n_words = static_cast<size_t>(state_.layout.size()) * words_per_bin();
    histograms_.push_back(std::make_unique_for_overwrite<int64_t[]>(n_words));
    return histograms_.back().get();
  }
  int64_t* histogram = free_.back();
  free_.pop_back();
  return histogram;
}

void HistogramPool::release(int64_t* histogram) {
  if (histogram) free_.push_back(histogram);
}

const int32_t* HistogramPool::rows(int64_t begin, int64_t end) const {
  const bool whole = state_.samples_all_rows && end - begin == state_.partition.size();
  return whole ? nullptr : state_.partition.rows();
}

void HistogramPool::build(int64_t begin, int64_t end, int64_t* histogram) {
  if (state_.wide) {
    build_wide(begin, end, histogram);
    return;
  }
  if (can_build_by_feature()) {
    PendingHistogram wanted{begin, end, histogram};
    build_by_feature({&wanted, 1}, state_.n_threads, 0.0, [](int32_t) {});
    return;
  }
  store_.build(state_.packed.words.data(), rows(begin, end), begin, end, state_.n_threads, partial_,
               histogram);
}

// Adds up as many rows at a time as the sums in a word allow, and adds these sums with 64 bits
// each.
void HistogramPool::build_wide(int64_t begin, int64_t end, int64_t* histogram) {
  const int64_t n_bins = state_.layout.size();
  std::fill_n(histogram, 2 * n_bins, int64_t{0});
  narrow_.resize(n_bins);
  const int32_t* node_rows = rows(begin, end);
  for (int64_t first = begin; first < end; first += kWideChunk) {
    const int64_t last = std::min(end, first + kWideChunk);
    store_.build(state_.packed.words.data(), node_rows, first, last, state_.n_threads, partial_,
                 narrow_.data());
    for (int64_t b = 0; b < n_bins; ++b) {
      histogram[2 * b] += gradient_field(narrow_[b]);
      histogram[2 * b + 1] += hessian_field(narrow_[b]);
    }
  }
}

void HistogramPool::build_row_counts(int64_t begin, int64_t end, int64_t* histogram) {
  ones_.resize(state_.binned->n_rows, 1);
  store_.build(ones_.data(), rows(begin, end), begin, end, state_.n_threads, partial_, histogram);
  state_.share.sum_scatter(histogram, state_.searched.bounds, nullptr, 0);
}

void HistogramPool::sum_over_workers(int64_t* histogram, int64_t* extra, size_t n_extra) const {
  const std::vector<size_t>& bounds = state_.wide ? wide_bounds_ : state_.searched.bounds;
  state_.share.sum_scatter(histogram, bounds, extra, n_extra);
}

void HistogramPool::subtract(int32_t feature, const int64_t* part, int64_t* whole) const {
  const int32_t width = words_per_bin();
  const int64_t first = int64_t{state_.layout.start[feature]} * width;
  subtract_bins(part + first,
                state_.layout.start[feature + 1] * width - static_cast<int32_t>(first),
                whole + first);
}

void HistogramPool::subtract(const int64_t* part, int64_t* whole) const {
  subtract_words(part, whole, words_per_bin());
}

void HistogramPool::subtract_row_counts(const int64_t* part, int64_t* whole) const {
  subtract_words(part, whole, 1);
}

void HistogramPool::subtract_words(const int64_t* part, int64_t* whole, int32_t width) const {
  const int32_t begin = state_.layout.start[state_.searched.begin] * width;
  const int32_t end = state_.layout.start[state_.searched.end] * width;
  subtract_bins(part + begin, end - begin, whole + begin);
}

GradientSums HistogramPool::total(const int64_t* histogram) const {
  const int32_t n_bins = state_.layout.start[1];
  if (!state_.wide) return unpacked(std::accumulate(histogram, histogram + n_bins, int64_t{0}));
  GradientSums sums;
  for (int32_t b = 0; b < n_bins; ++b) sums += {histogram[2 * b], histogram[2 * b + 1]};
  return sums;
}

GradientSums HistogramPool::bin(const int64_t* histogram, int32_t feature, int32_t bin) const {
  const int64_t place = state_.layout.start[feature] + bin;
  if (!state_.wide) return unpacked(histogram[place]);
  return {histogram[2 * place], histogram[2 * place + 1]};
}

GradientSums HistogramPool::missing(const int64_t* histogram, int32_t feature) const {
  if (!state_.layout.missing[feature]) return {};
  return bin(histogram, feature, state_.layout.n_bins[feature]);
}

GradientSums HistogramPool::left(const int64_t* histogram, const CodeRule& rule) const {
  GradientSums sums;
  if (rule.missing_left) sums += missing(histogram, rule.feature);
  const int32_t n_bins = rule.categories ? state_.layout.n_bins[rule.feature] : rule.bin + 1;
  for (int32_t code = 0; code < n_bins; ++code) {
    if (rule.categories && !has_category(*rule.categories, code)) continue;
    sums += bin(histogram, rule.feature, code);
  }
  return sums;
}

NodeBins HistogramPool::bins(int32_t feature, const int64_t* histogram,
                             const GradientSums& total) const {
  if (!state_.wide) {
    return {histogram + state_.layout.start[feature], packed_word(total), &state_.packed};
  }
  std::vector<GradientSums>& sums = scaled_bins().sums;
  sums.clear();
  for (int32_t b = 0; b < state_.layout.n_bins[feature]; ++b) {
    sums.push_back(bin(histogram, feature, b));
  }
  sums.push_back(missing(histogram, feature));
  return bins(sums);
}

// Scales by powers of two, so that the fields of the feature's bins add up to 30 and 29 bits.
NodeBins HistogramPool::bins(std::span<const GradientSums> sums) const {
  auto& [own, words, row_counts, units] = scaled_bins();
  uint64_t gradients = 0, hessians = 0;
  for (const GradientSums& one : sums) {
    gradients += static_cast<uint64_t>(std::abs(one.gradient));
    hessians += static_cast<uint64_t>(one.hessian);
  }
  const auto shift_to = [&](uint64_t sum, int bits) {
    return state_.wide ? std::max(0, static_cast<int>(std::bit_width(sum)) - bits) : 0;
  };
  const int gradient_shift = shift_to(gradients, 30);
  const int hessian_shift = shift_to(hessians, 29);
  units = state_.packed;
  units.gradient_unit *= std::ldexp(1.0, gradient_shift);
  units.hessian_unit *= std::ldexp(1.0, hessian_shift);
  const bool counted = units.counts_rows && hessian_shift > 0;
  units.counts_rows = units.counts_rows && !counted;
  words.clear();
  row_counts.clear();
  for (const auto& [gradient, hessian] : sums) {
    const int64_t weight = hessian > 0 ? std::max<int64_t>(1, hessian >> hessian_shift) : 0;
    words.push_back(packed_word({shifted(gradient, gradient_shift), weight}));
    if (counted) row_counts.push_back(hessian);
  }
  return {words.data(), std::accumulate(words.begin(), words.end(), int64_t{0}), &units,
          counted ? row_counts.data() : nullptr};
}

}  // namespace rankgrove
