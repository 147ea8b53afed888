#include "trees/histogram_pool.hpp"

#include <numeric>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

RANKGROVE_SIMD void subtract_bins(const int64_t* __restrict part, int32_t n,
                                  int64_t* __restrict whole) {
  for (int32_t b = 0; b < n; ++b) whole[b] -= part[b];
}

}  // namespace

HistogramPool::HistogramPool(const GrowthState& state)
    : state_(state), store_(*state.binned, state.layout, state.n_threads) {}

int64_t* HistogramPool::acquire() {
  if (free_.empty()) {
    histograms_.push_back(std::make_unique_for_overwrite<int64_t[]>(state_.layout.size()));
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
  if (can_build_by_feature()) {
    build_by_feature(begin, end, histogram, state_.n_threads, 0.0, [](int32_t) {});
    return;
  }
  store_.build(state_.packed.words.data(), rows(begin, end), begin, end, state_.n_threads, partial_,
               histogram);
}

void HistogramPool::build_row_counts(int64_t begin, int64_t end, int64_t* histogram) {
  ones_.resize(state_.binned->n_rows, 1);
  store_.build(ones_.data(), rows(begin, end), begin, end, state_.n_threads, partial_, histogram);
  sum_over_workers(histogram);
}

void HistogramPool::sum_over_workers(int64_t* histogram, int64_t* extra, size_t n_extra) const {
  state_.share.sum_scatter(histogram, state_.searched.bounds, extra, n_extra);
}

void HistogramPool::subtract(int32_t feature, const int64_t* part, int64_t* whole) const {
  const int32_t first = state_.layout.start[feature];
  subtract_bins(part + first, state_.layout.start[feature + 1] - first, whole + first);
}

void HistogramPool::subtract(const int64_t* part, int64_t* whole) const {
  const int32_t begin = state_.layout.start[state_.searched.begin];
  const int32_t end = state_.layout.start[state_.searched.end];
  subtract_bins(part + begin, end - begin, whole + begin);
}

int64_t HistogramPool::total(const int64_t* histogram) const {
  return std::accumulate(histogram, histogram + state_.layout.start[1], int64_t{0});
}

}  // namespace rankgrove
