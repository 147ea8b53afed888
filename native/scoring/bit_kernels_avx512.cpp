// Bit kernels for processors with the later parts of AVX-512: a comparison gives the bits of 16
// rows at once, and values of up to 64 leaves are looked up in registers.
#include <array>

#include "common/simd.hpp"
#include "scoring/bit_kernel_parts.hpp"
#include "scoring/bit_kernels.hpp"
#include "scoring/columns.hpp"

#if RANKGROVE_X86

namespace rankgrove {

namespace {

using Bits16 = uint16_t __attribute__((may_alias));
using Bits8 = uint8_t __attribute__((may_alias));

// ---- predicates -------------------------------------------------------------------------------

// Where rows first .. first + n - 1 of 32 lie, counted from the place `origin` of a tile.
template <typename V, typename Index, int32_t n>
constexpr std::array<Index, n> places(int32_t first, int32_t origin) {
  std::array<Index, n> at{};
  for (int32_t i = 0; i < n; ++i) at[i] = tile_position<V>(first + i) - origin;
  return at;
}

// Rows of 32 in their order: 16 floats or 8 doubles. Of a group of 8 rows only the first is read.
template <bool whole>
RANKGROVE_AVX512 inline __m512 ordered(const float* group, int32_t part) {
  alignas(64) static constexpr auto lower = places<float, int32_t, 16>(0, 0);
  alignas(64) static constexpr auto upper = places<float, int32_t, 16>(16, 0);
  const __m512 a = _mm512_maskz_load_ps(whole ? 0xffff : 0x0f0f, group);
  const __m512 b = _mm512_maskz_load_ps(whole ? 0xffff : 0, group + 16);
  return _mm512_permutex2var_ps(a, _mm512_load_si512(part == 0 ? &lower : &upper), b);
}

template <bool whole>
RANKGROVE_AVX512 inline __m512d ordered(const double* group, int32_t part) {
  // Rows 0 to 7 and 16 to 23 lie in the first 16 places, the others in the last.
  alignas(64) static constexpr std::array<std::array<int64_t, 8>, 4> at{
      places<double, int64_t, 8>(0, 0), places<double, int64_t, 8>(8, 16),
      places<double, int64_t, 8>(16, 0), places<double, int64_t, 8>(24, 16)};
  const double* from = group + part % 2 * 16;
  const __m512d a = _mm512_maskz_load_pd(whole ? 0xff : 0x33, from);
  const __m512d b = _mm512_maskz_load_pd(whole ? 0xff : 0x33, from + 8);
  return _mm512_permutex2var_pd(a, _mm512_load_si512(&at[part]), b);
}

RANKGROVE_AVX512 inline void widen(Range<float>& range, __m512 rows, __mmask16 present) {
  const __m512 inf = _mm512_set1_ps(std::numeric_limits<float>::infinity());
  const __m512 x = _mm512_mask_mov_ps(rows, _mm512_cmp_ps_mask(rows, rows, _CMP_UNORD_Q), inf);
  range.low = std::min(range.low, _mm512_mask_reduce_min_ps(present, x));
  range.high = std::max(range.high, _mm512_mask_reduce_max_ps(present, x));
}

RANKGROVE_AVX512 inline void widen(Range<double>& range, __m512d rows, __mmask8 present) {
  const __m512d inf = _mm512_set1_pd(std::numeric_limits<double>::infinity());
  const __m512d x = _mm512_mask_mov_pd(rows, _mm512_cmp_pd_mask(rows, rows, _CMP_UNORD_Q), inf);
  range.low = std::min(range.low, _mm512_mask_reduce_min_pd(present, x));
  range.high = std::max(range.high, _mm512_mask_reduce_max_pd(present, x));
}

RANKGROVE_AVX512 inline __m512 everywhere(float x) { return _mm512_set1_ps(x); }
RANKGROVE_AVX512 inline __m512d everywhere(double x) { return _mm512_set1_pd(x); }

// Writes which rows of vector v exceed the threshold.
RANKGROVE_AVX512 inline void exceed(__m512 rows, __m512 threshold, int32_t v, uint64_t* words) {
  reinterpret_cast<Bits16*>(words)[v] = _mm512_cmp_ps_mask(rows, threshold, _CMP_NLE_UQ);
}
RANKGROVE_AVX512 inline void exceed(__m512d rows, __m512d threshold, int32_t v, uint64_t* words) {
  reinterpret_cast<Bits8*>(words)[v] = _mm512_cmp_pd_mask(rows, threshold, _CMP_NLE_UQ);
}

// Compares n_groups times 32 rows, and 8 more; the rows stay in registers.
template <typename V, int32_t n_groups, bool eight_more>
RANKGROVE_AVX512 void compare_groups(const V* values, const V* thresholds, int32_t n_thresholds,
                                     uint64_t* predicates, int64_t stride) {
  constexpr V inf = std::numeric_limits<V>::infinity();
  constexpr int32_t of_group = 32 * sizeof(V) / 64;
  constexpr int32_t n_full = of_group * n_groups;
  decltype(everywhere(V{})) rows[n_full + 1];
  Range<V> range{inf, -inf};
#pragma GCC unroll 33
  for (int32_t v = 0; v < n_full; ++v) {
    rows[v] = ordered<true>(values + v / of_group * 32, v % of_group);
    widen(range, rows[v], -1);
  }
  if constexpr (eight_more) {
    rows[n_full] = ordered<false>(values + 32 * n_groups, 0);
    widen(range, rows[n_full], 0xff);
  }
  int32_t first = 0;
  int32_t last = 0;
  fill_outside(range, thresholds, n_thresholds, predicates, stride, &first, &last);
  for (int32_t k = first; k < last; ++k) {
    const auto threshold = everywhere(thresholds[k]);
#pragma GCC unroll 33
    for (int32_t v = 0; v < n_full + eight_more; ++v) {
      exceed(rows[v], threshold, v, predicates + k * stride);
    }
  }
}

template <typename V>
void compare_avx512(const V* values, int32_t n_rows, const V* thresholds, int32_t n_thresholds,
                    uint64_t* predicates, bool half) {
  constexpr decltype(&compare_groups<V, 1, false>) by_groups[][2] = {
      {nullptr, compare_groups<V, 0, true>},
      {compare_groups<V, 1, false>, compare_groups<V, 1, true>},
      {compare_groups<V, 2, false>, compare_groups<V, 2, true>},
      {compare_groups<V, 3, false>, compare_groups<V, 3, true>},
      {compare_groups<V, 4, false>, compare_groups<V, 4, true>},
      {compare_groups<V, 5, false>, compare_groups<V, 5, true>},
      {compare_groups<V, 6, false>, compare_groups<V, 6, true>},
      {compare_groups<V, 7, false>, compare_groups<V, 7, true>},
      {compare_groups<V, 8, false>, nullptr}};
  by_groups[n_rows / 32][n_rows % 32 != 0](values, thresholds, n_thresholds, predicates,
                                           words_per_predicate(half));
}

// ---- leaves -----------------------------------------------------------------------------------

RANKGROVE_AVX512 void split_rows_avx512(const BitNode* nodes, int64_t n_nodes,
                                        const uint64_t* predicates, RowBits* slots, bool half) {
  if (half) {
    split_rows<Half>(nodes, n_nodes, predicates, slots);
  } else {
    split_rows<Whole>(nodes, n_nodes, predicates, slots);
  }
}

RANKGROVE_AVX512 void number_sets_avx512(RowBits* sets, int32_t n_sets, RowBits* planes,
                                         bool half) {
  if (half) {
    number_sets<Half>(sets, n_sets, planes);
  } else {
    number_sets<Whole>(sets, n_sets, planes);
  }
}

RANKGROVE_AVX512 void number_rows_avx512(const uint64_t* const* planes, int32_t n_planes,
                                         int32_t n_groups, uint8_t* bytes) {
  for (int32_t word = 0; word < (n_groups + 1) / 2; ++word) {
    __m512i number = _mm512_setzero_si512();
    for (int32_t b = 0; b < n_planes; ++b) {
      const __m512i bit = _mm512_set1_epi8(static_cast<char>(1 << b));
      number = _mm512_mask_add_epi8(number, planes[b][word], number, bit);
    }
    _mm512_storeu_si512(bytes + 64 * word, number);
  }
}

// ---- values -----------------------------------------------------------------------------------

// The values of a tree's leaves in n registers of 8.
template <int32_t n>
struct LeafValues {
  __m512d eights[n];

  RANKGROVE_AVX512 explicit LeafValues(const double* values) {
    for (int32_t i = 0; i < n; ++i) eights[i] = _mm512_loadu_pd(values + 8 * i);
  }

  // The values of 8 leaves.
  RANKGROVE_AVX512 __m512d operator()(__m512i leaf) const {
    if constexpr (n == 1) return _mm512_permutexvar_pd(leaf, eights[0]);
    __m512d found[(n + 1) / 2];
    for (int32_t i = 0; i < n / 2; ++i) {
      found[i] = _mm512_permutex2var_pd(eights[2 * i], leaf, eights[2 * i + 1]);
    }
    if constexpr (n > 2) {
      const __mmask8 upper = _mm512_test_epi64_mask(leaf, _mm512_set1_epi64(16));
      for (int32_t i = 0; i < n / 4; ++i) {
        found[i] = _mm512_mask_blend_pd(upper, found[2 * i], found[2 * i + 1]);
      }
    }
    if constexpr (n > 4) {
      const __mmask8 upper = _mm512_test_epi64_mask(leaf, _mm512_set1_epi64(32));
      found[0] = _mm512_mask_blend_pd(upper, found[0], found[1]);
    }
    return found[0];
  }
};

// The leaves of 8 rows.
RANKGROVE_AVX512 inline __m512i leaves_of(const uint8_t* leaf) {
  return _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(leaf)));
}

template <int32_t n>
RANKGROVE_AVX512 void add_four_of(const uint8_t (*leaf)[kBitRows], const double* const* values,
                                  int32_t n_rows, double* scores) {
  const LeafValues<n> first(values[0]);
  const LeafValues<n> second(values[1]);
  const LeafValues<n> third(values[2]);
  const LeafValues<n> fourth(values[3]);
  for (int32_t i = 0; i < n_rows; i += 8) {
    const auto present = static_cast<__mmask8>(n_rows - i >= 8 ? 0xff : (1 << (n_rows - i)) - 1);
    __m512d sum = _mm512_maskz_loadu_pd(present, scores + i);
    sum = _mm512_add_pd(sum, first(leaves_of(leaf[0] + i)));
    sum = _mm512_add_pd(sum, second(leaves_of(leaf[1] + i)));
    sum = _mm512_add_pd(sum, third(leaves_of(leaf[2] + i)));
    sum = _mm512_add_pd(sum, fourth(leaves_of(leaf[3] + i)));
    _mm512_mask_storeu_pd(scores + i, present, sum);
  }
}

void add_four_avx512(const uint8_t (*leaf)[kBitRows], const double* const* values, int32_t n_leaves,
                     int32_t n_rows, double* scores) {
  if (n_leaves <= 8) return add_four_of<1>(leaf, values, n_rows, scores);
  if (n_leaves <= 16) return add_four_of<2>(leaf, values, n_rows, scores);
  if (n_leaves <= 32) return add_four_of<4>(leaf, values, n_rows, scores);
  if (n_leaves <= 64) return add_four_of<8>(leaf, values, n_rows, scores);
  add_four_plain(leaf, values, n_leaves, n_rows, scores);
}

constexpr BitKernels kAvx512{compare_avx512<float>, compare_avx512<double>, split_rows_avx512,
                             number_sets_avx512,    number_rows_avx512,     add_four_avx512};

}  // namespace

const BitKernels& avx512_bit_kernels() { return kAvx512; }

}  // namespace rankgrove

#endif
