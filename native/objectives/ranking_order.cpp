#include "objectives/ranking_order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

// Up to this many documents, comparing all pairs with vector instructions beats sorting.
constexpr int kIndexBits = 9;
constexpr size_t kCountingLimit = size_t{1} << kIndexBits;
constexpr size_t kBlock = 32;  // documents whose ranks are counted together

// Lowest and highest score; false if one is not a number.
RANKGROVE_SIMD bool find_range(const double* scores, size_t n, double* lowest, double* highest) {
  Lanes64 x, low = Lanes64{} + scores[0], high = low;
  LaneMask64 numbers = low == low;
  size_t i = 0;
  for (; i + kLanes64 <= n; i += kLanes64) {
    load(x, scores + i);
    low = x < low ? x : low;
    high = x > high ? x : high;
    numbers &= x == x;
  }
  x = Lanes64{} + scores[0];
  for (size_t v = 0; i + v < n; ++v) x[v] = scores[i + v];
  low = x < low ? x : low;
  high = x > high ? x : high;
  numbers &= x == x;
  *lowest = std::min(std::min(low[0], low[1]), std::min(low[2], low[3]));
  *highest = std::max(std::max(high[0], high[1]), std::max(high[2], high[3]));
  return numbers[0] && numbers[1] && numbers[2] && numbers[3];
}

// coarse[i] = distance from the highest score in 2^22 steps, then the index: distinct, and in the
// order of the ranking but for scores that share a step.
RANKGROVE_SIMD void coarse_keys(const double* scores, size_t n, double highest, double steps,
                                int32_t* coarse) {
  for (size_t i = 0; i < n; ++i) {
    const auto step = static_cast<int32_t>((highest - scores[i]) * steps);
    coarse[i] = step << kIndexBits | static_cast<int32_t>(i);
  }
}

// ranks[i] = number of keys below key i. Both arrays are readable up to a multiple of kBlock.
RANKGROVE_SIMD void count_ranks(const int32_t* keys, size_t n, int32_t* ranks) {
  for (size_t i = 0; i < n; i += kBlock) {
    LaneMask own[4], below[4] = {};
    for (int v = 0; v < 4; ++v) load(own[v], keys + i + v * kLanes);
    for (size_t j = 0; j < n; ++j) {
      const LaneMask key = LaneMask{} + keys[j];
      for (int v = 0; v < 4; ++v) below[v] -= key < own[v];
    }
    for (int v = 0; v < 4; ++v) store(ranks + i + v * kLanes, below[v]);
  }
}

// An integer per score, in descending order of the scores.
int64_t descending_key(double score) {
  const auto bits = std::bit_cast<int64_t>(score + 0.0);  // -0.0 becomes 0.0
  return ~(bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits);
}

}  // namespace

RankingOrder::RankingOrder(size_t longest)
    : order_(longest),
      coarse_(std::min(longest, kCountingLimit) + kBlock),
      ranks_(std::min(longest, kCountingLimit) + kBlock),
      keys_(longest) {}

const int32_t* RankingOrder::sort(const double* scores, size_t n) {
  if (n > kCountingLimit || !sort_by_counting(scores, n)) sort_by_keys(scores, n);
  return order_.data();
}

bool RankingOrder::sort_by_counting(const double* scores, size_t n) {
  double lowest, highest;
  if (!find_range(scores, n, &lowest, &highest)) return false;
  const double steps = static_cast<double>((1 << (31 - kIndexBits)) - 2) / (highest - lowest);
  if (!std::isfinite(steps) || steps == 0) return false;  // all scores equal, or some infinite
  coarse_keys(scores, n, highest, steps, coarse_.data());
  std::fill_n(coarse_.begin() + static_cast<std::ptrdiff_t>(n), kBlock,
              std::numeric_limits<int32_t>::max());
  count_ranks(coarse_.data(), n, ranks_.data());
  for (size_t i = 0; i < n; ++i) order_[static_cast<size_t>(ranks_[i])] = static_cast<int32_t>(i);
  for (size_t r = 1; r < n; ++r) {  // scores of one step stand in row order: sort them
    const int32_t row = order_[r];
    size_t at = r;
    for (; at > 0 && scores[order_[at - 1]] < scores[row]; --at) order_[at] = order_[at - 1];
    order_[at] = row;
  }
  return true;
}

void RankingOrder::sort_by_keys(const double* scores, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    keys_[i] = descending_key(scores[i]);
    order_[i] = static_cast<int32_t>(i);
  }
  std::sort(
      order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(n),
      [&](int32_t a, int32_t b) { return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b; });
}

}  // namespace rankgrove
