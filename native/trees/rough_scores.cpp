#include "trees/rough_scores.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/simd.hpp"
#include "trees/packed_gradients.hpp"

namespace rankgrove {
namespace {

typedef uint64_t Words __attribute__((vector_size(32)));

// Prefix sums of the words.
RANKGROVE_INLINE void add_before(Words& words) {
  const Words none = {};
  Words moved;
  shuffle<4, 0, 1, 2>(words, none, moved);
  words += moved;
  shuffle<4, 5, 0, 1>(words, none, moved);
  words += moved;
}

// The low halves of eight words.
RANKGROVE_INLINE void low_halves(const Words& a, const Words& b, LaneMask& halves) {
  shuffle<0, 2, 4, 6, 8, 10, 12, 14>((LaneMask)a, (LaneMask)b, halves);
}

// Eight splits with the sums a and b to their left.
RANKGROVE_INLINE void score_sums(const Words& a, const Words& b, int64_t total, RoughUnits units,
                                 float* score) {
  LaneMask g, h;
  low_halves(a >> kHessianBits, b >> kHessianBits, g);
  low_halves(a, b, h);
  h &= static_cast<int32_t>(kHessianMask);
  const LaneMask other_g = static_cast<int32_t>(total >> kHessianBits) - g;
  const LaneMask other_h = static_cast<int32_t>(total & kHessianMask) - h;
  const Lanes gl = __builtin_convertvector(g, Lanes);
  const Lanes gr = __builtin_convertvector(other_g, Lanes);
  const Lanes hl = __builtin_convertvector(h, Lanes) + units.l2;
  const Lanes hr = __builtin_convertvector(other_h, Lanes) + units.l2;
  const Lanes both = (gl * gl * hr + gr * gr * hl) / (hl * hr);
  const LaneMask heavy = (h >= units.min_hessian) & (other_h >= units.min_hessian);
  store(score, heavy ? both : Lanes{} + kNoRough);
}

// Scores eight splits; `before` holds the sums to their left, and is moved to those of the next.
RANKGROVE_INLINE void score_lanes(const int64_t* bins, int64_t total, RoughUnits units,
                                  Words& before, int64_t* left, float* score) {
  Words a, b;
  load(a, bins);
  load(b, bins + kLanes64);
  add_before(a);
  add_before(b);
  Words sum_a, sum_b;
  shuffle<3, 3, 3, 3>(a, a, sum_a);
  shuffle<3, 3, 3, 3>(b, b, sum_b);
  a += before;
  b += before + sum_a;
  before += sum_a + sum_b;
  store(left, a);
  store(left + kLanes64, b);
  score_sums(a, b, total, units, score);
}

RANKGROVE_SIMD void score_splits(const int64_t* bins, int32_t n, int64_t missing, int64_t total,
                                 RoughUnits units, int64_t* left, float* score) {
  Words before = Words{} + static_cast<uint64_t>(missing);
  int32_t b = 0;
  for (; b + kLanes <= n; b += kLanes) {
    score_lanes(bins + b, total, units, before, left + b, score + b);
  }
  if (b < n) {
    int64_t rest[kLanes] = {};
    std::memcpy(rest, bins + b, (n - b) * sizeof(int64_t));
    score_lanes(rest, total, units, before, left + b, score + b);
  }
  std::fill(score + n, score + n_rough_blocks(n) * kRoughBlock, kNoRough);
}

// Writes the greatest score of each block, and returns the greatest of all.
RANKGROVE_SIMD float greatest_of_blocks(const float* score, int32_t n_blocks, float* greatest) {
  float of_all = kNoRough;
  for (int32_t block = 0; block < n_blocks; ++block, score += kRoughBlock) {
    Lanes best, x;
    load(best, score);
    for (int32_t b = kLanes; b < kRoughBlock; b += kLanes) {
      load(x, score + b);
      best = x > best ? x : best;
    }
    float of_block = best[0];
    for (int v = 1; v < kLanes; ++v) of_block = best[v] > of_block ? best[v] : of_block;
    greatest[block] = of_block;
    of_all = of_block > of_all ? of_block : of_all;
  }
  return of_all;
}

#if RANKGROVE_X86

// Bit b: whether bins[b] is not 0, of up to 64 bins.
RANKGROVE_AVX2 inline uint64_t occupied(const int64_t* bins, int32_t n) {
  uint64_t bits = 0;
  int32_t b = 0;
  for (; b + kLanes64 <= n; b += kLanes64) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bins + b));
    const __m256i empty = _mm256_cmpeq_epi64(words, _mm256_setzero_si256());
    const int signs = _mm256_movemask_pd(_mm256_castsi256_pd(empty));
    bits |= static_cast<uint64_t>(signs ^ 0xf) << b;
  }
  for (; b < n; ++b) bits |= static_cast<uint64_t>(bins[b] != 0) << b;
  return bits;
}

RANKGROVE_AVX2 int32_t list_occupied_avx2(const int64_t* bins, int32_t n, int32_t* bin,
                                          int64_t* sums) {
  int32_t n_listed = 0;
  for (int32_t first = 0; first < n; first += 64) {
    uint64_t bits = occupied(bins + first, std::min(n - first, 64));
    if (first == 0) bits |= 1;
    for (; bits; bits &= bits - 1) {
      const int32_t b = first + std::countr_zero(bits);
      bin[n_listed] = b;
      sums[n_listed++] = bins[b];
    }
  }
  return n_listed;
}

// The same with eight bins at once: those that are not 0 are moved together.
RANKGROVE_AVX512 int32_t list_occupied_avx512(const int64_t* bins, int32_t n, int32_t* bin,
                                              int64_t* sums) {
  int32_t n_listed = 0;
  __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int32_t first = 0; first < n; first += 8) {
    const auto present = static_cast<__mmask8>(n - first >= 8 ? 0xff : (1u << (n - first)) - 1);
    const __m512i words = _mm512_maskz_loadu_epi64(present, bins + first);
    auto listed = static_cast<uint32_t>(_mm512_test_epi64_mask(words, words));
    if (first == 0) listed |= 1;
    const auto mask = static_cast<__mmask8>(listed);
    _mm512_storeu_si512(sums + n_listed, _mm512_maskz_compress_epi64(mask, words));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bin + n_listed),
                        _mm256_maskz_compress_epi32(mask, numbers));
    n_listed += std::popcount(listed);
    numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
  }
  return n_listed;
}

// Sixteen splits at once, half a block, by the same operations as above.
RANKGROVE_AVX512 inline __m512i with_those_before(__m512i words) {
  const __m512i none = _mm512_setzero_si512();
  words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, none, 7));
  words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, none, 6));
  return _mm512_add_epi64(words, _mm512_alignr_epi64(words, none, 4));
}

RANKGROVE_AVX512 inline __m512i last_of(__m512i words) {
  return _mm512_permutexvar_epi64(_mm512_set1_epi64(7), words);
}

RANKGROVE_AVX512 inline __m512i low_halves_of(__m512i a, __m512i b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_epi32(a, even, b);
}

// The scores of splits `first` to `first + 15`, kNoRough from n on.
template <bool kStored>
RANKGROVE_AVX512 inline __m512 score_half(const int64_t* bins, int32_t first, int32_t n,
                                          int64_t total, RoughUnits units, __m512i& before,
                                          int64_t* left) {
  const uint32_t present = n - first >= 16 ? 0xffff : (1u << std::max(n - first, 0)) - 1;
  const auto low = static_cast<__mmask8>(present);
  const auto high = static_cast<__mmask8>(present >> 8);
  __m512i a = with_those_before(_mm512_maskz_loadu_epi64(low, bins + first));
  __m512i b = with_those_before(_mm512_maskz_loadu_epi64(high, bins + first + 8));
  const __m512i sum_a = last_of(a);
  const __m512i sum_b = last_of(b);
  a = _mm512_add_epi64(a, before);
  b = _mm512_add_epi64(b, _mm512_add_epi64(before, sum_a));
  before = _mm512_add_epi64(before, _mm512_add_epi64(sum_a, sum_b));
  if constexpr (kStored) {
    _mm512_storeu_si512(left + first, a);
    _mm512_storeu_si512(left + first + 8, b);
  }
  const __m512i g =
      low_halves_of(_mm512_srli_epi64(a, kHessianBits), _mm512_srli_epi64(b, kHessianBits));
  const __m512i h =
      _mm512_and_si512(low_halves_of(a, b), _mm512_set1_epi32(static_cast<int32_t>(kHessianMask)));
  const __m512i other_g = _mm512_sub_epi32(_mm512_set1_epi32(gradient_field(total)), g);
  const __m512i other_h = _mm512_sub_epi32(_mm512_set1_epi32(hessian_field(total)), h);
  const __m512 l2 = _mm512_set1_ps(units.l2);
  const __m512 gl = _mm512_cvtepi32_ps(g);
  const __m512 gr = _mm512_cvtepi32_ps(other_g);
  const __m512 hl = _mm512_add_ps(_mm512_cvtepi32_ps(h), l2);
  const __m512 hr = _mm512_add_ps(_mm512_cvtepi32_ps(other_h), l2);
  const __m512 above = _mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(gl, gl), hr),
                                     _mm512_mul_ps(_mm512_mul_ps(gr, gr), hl));
  const __m512i least = _mm512_set1_epi32(units.min_hessian);
  const __mmask16 heavy = _mm512_cmpge_epi32_mask(h, least) &
                          _mm512_cmpge_epi32_mask(other_h, least) & static_cast<__mmask16>(present);
  return _mm512_mask_div_ps(_mm512_set1_ps(kNoRough), heavy, above, _mm512_mul_ps(hl, hr));
}

RANKGROVE_AVX512 float rough_scores_avx512(const int64_t* bins, int32_t n, int64_t missing,
                                           int64_t total, RoughUnits units,
                                           const RoughScores& scores) {
  __m512i before = _mm512_set1_epi64(missing);
  float of_all = kNoRough;
  for (int32_t block = 0; block < n_rough_blocks(n); ++block) {
    const int32_t first = block * kRoughBlock;
    const __m512 x = score_half<true>(bins, first, n, total, units, before, scores.left);
    const __m512 y = score_half<true>(bins, first + 16, n, total, units, before, scores.left);
    _mm512_storeu_ps(scores.score + first, x);
    _mm512_storeu_ps(scores.score + first + 16, y);
    scores.of_block[block] = _mm512_reduce_max_ps(_mm512_max_ps(x, y));
    of_all = std::max(of_all, scores.of_block[block]);
  }
  return of_all;
}

RANKGROVE_AVX512 float greatest_rough_score_avx512(const int64_t* bins, int32_t n, int64_t missing,
                                                   int64_t total, RoughUnits units) {
  __m512i before = _mm512_set1_epi64(missing);
  __m512 greatest = _mm512_set1_ps(kNoRough);
  for (int32_t first = 0; first < n; first += 16) {
    greatest =
        _mm512_max_ps(greatest, score_half<false>(bins, first, n, total, units, before, nullptr));
  }
  return _mm512_reduce_max_ps(greatest);
}

#endif

}  // namespace

float rough_scores(const int64_t* bins, int32_t n, int64_t missing, int64_t total, RoughUnits units,
                   const RoughScores& scores) {
#if RANKGROVE_X86
  if (has_avx512()) return rough_scores_avx512(bins, n, missing, total, units, scores);
#endif
  score_splits(bins, n, missing, total, units, scores.left, scores.score);
  return greatest_of_blocks(scores.score, n_rough_blocks(n), scores.of_block);
}

float greatest_rough_score(const int64_t* bins, int32_t n, int64_t missing, int64_t total,
                           RoughUnits units, const RoughScores& scores) {
#if RANKGROVE_X86
  if (has_avx512()) return greatest_rough_score_avx512(bins, n, missing, total, units);
#endif
  return rough_scores(bins, n, missing, total, units, scores);
}

bool can_list_occupied() {
#if RANKGROVE_X86
  return has_avx2();
#else
  return false;
#endif
}

int32_t list_occupied([[maybe_unused]] const int64_t* bins, [[maybe_unused]] int32_t n,
                      [[maybe_unused]] int32_t* bin, [[maybe_unused]] int64_t* sums) {
#if RANKGROVE_X86
  return (has_avx512() ? list_occupied_avx512 : list_occupied_avx2)(bins, n, bin, sums);
#else
  return 0;
#endif
}

}  // namespace rankgrove
