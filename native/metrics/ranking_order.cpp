#include "metrics/ranking_order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

// Up to this many documents, comparing all pairs with vector instructions beats sorting: no branch
// is mispredicted. Longer lists are cut into such runs and merged.
constexpr int kIndexBits = 9;
constexpr size_t kRun = size_t{1} << kIndexBits;
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

#if RANKGROVE_X86
// The same with sixteen keys in a vector.
RANKGROVE_AVX512 void count_ranks_avx512(const int32_t* keys, size_t n, int32_t* ranks) {
  const __m512i one = _mm512_set1_epi32(1);
  for (size_t i = 0; i < n; i += kBlock) {
    const __m512i own[2] = {_mm512_loadu_si512(keys + i),
                            _mm512_loadu_si512(keys + i + kBlock / 2)};
    __m512i below[2] = {};
    for (size_t j = 0; j < n; ++j) {
      const __m512i key = _mm512_set1_epi32(keys[j]);
      for (int v = 0; v < 2; ++v) {
        const __mmask16 is_below = _mm512_cmplt_epi32_mask(key, own[v]);
        below[v] = _mm512_mask_add_epi32(below[v], is_below, below[v], one);
      }
    }
    _mm512_storeu_si512(ranks + i, below[0]);
    _mm512_storeu_si512(ranks + i + kBlock / 2, below[1]);
  }
}
#endif

// An integer per score, in descending order of the scores.
int64_t descending_key(double score) {
  const auto bits = std::bit_cast<int64_t>(score + 0.0);  // -0.0 becomes 0.0
  return ~(bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits);
}

}  // namespace

const int32_t* RankingOrder::sort(const double* scores, size_t n) {
  if (n > order_.size()) {
    const size_t longest_run = std::min(n, kRun);
    order_.resize(n);
    coarse_.resize(longest_run + kBlock);
    ranks_.resize(longest_run + kBlock);
    keys_.resize(longest_run);
  }
  for (size_t begin = 0; begin < n; begin += kRun) {
    sort_run(scores + begin, std::min(kRun, n - begin), order_.data() + begin);
  }
  if (n > kRun) merge_runs(scores, n);
  return order_.data();
}

void RankingOrder::sort_run(const double* scores, size_t n, int32_t* order) {
  if (!sort_by_counting(scores, n, order)) sort_by_keys(scores, n, order);
}

bool RankingOrder::sort_by_counting(const double* scores, size_t n, int32_t* order) {
  double lowest, highest;
  if (!find_range(scores, n, &lowest, &highest)) return false;
  const double steps = static_cast<double>((1 << (31 - kIndexBits)) - 2) / (highest - lowest);
  if (!std::isfinite(steps) || steps == 0) return false;  // all scores equal, or some infinite
  coarse_keys(scores, n, highest, steps, coarse_.data());
  std::fill_n(coarse_.begin() + static_cast<std::ptrdiff_t>(n), kBlock,
              std::numeric_limits<int32_t>::max());
#if RANKGROVE_X86
  (has_avx512() ? count_ranks_avx512 : count_ranks)(coarse_.data(), n, ranks_.data());
#else
  count_ranks(coarse_.data(), n, ranks_.data());
#endif
  for (size_t i = 0; i < n; ++i) order[ranks_[i]] = static_cast<int32_t>(i);
  for (size_t r = 1; r < n; ++r) {  // scores of one step stand in row order: sort them
    const int32_t row = order[r];
    size_t at = r;
    for (; at > 0 && scores[order[at - 1]] < scores[row]; --at) order[at] = order[at - 1];
    order[at] = row;
  }
  return true;
}

void RankingOrder::sort_by_keys(const double* scores, size_t n, int32_t* order) {
  for (size_t i = 0; i < n; ++i) {
    keys_[i] = descending_key(scores[i]);
    order[i] = static_cast<int32_t>(i);
  }
  std::sort(order, order + n, [&](int32_t a, int32_t b) {
    return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b;
  });
}

void RankingOrder::merge_runs(const double* scores, size_t n) {
  runs_.resize(n);
  spare_.resize(n);
  for (size_t rank = 0; rank < n; ++rank) {
    const int32_t row = static_cast<int32_t>(rank / kRun * kRun) + order_[rank];
    runs_[rank] = {descending_key(scores[row]), row};
  }
  for (size_t run = kRun; run < n; run *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * run) {
      const Ranked* left = runs_.data() + begin;
      const Ranked* const middle = runs_.data() + std::min(begin + run, n);
      const Ranked* right = middle;
      const Ranked* const end = runs_.data() + std::min(begin + 2 * run, n);
      Ranked* out = spare_.data() + begin;
      while (left != middle && right != end) {
        const bool from_right = right->key < left->key;
        *out++ = *(from_right ? right : left);
        right += from_right;
        left += !from_right;
      }
      out = std::copy(left, middle, out);
      std::copy(right, end, out);
    }
    std::swap(runs_, spare_);
  }
  for (size_t rank = 0; rank < n; ++rank) order_[rank] = runs_[rank].row;
}

}  // namespace rankgrove
