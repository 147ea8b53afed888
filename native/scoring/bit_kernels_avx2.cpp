// Bit kernels for processors with AVX2.
#include "common/simd.hpp"
#include "scoring/bit_kernel_parts.hpp"
#include "scoring/bit_kernels.hpp"
#include "scoring/columns.hpp"

#if RANKGROVE_X86

namespace rankgrove {

namespace {

using GroupBits = uint32_t __attribute__((may_alias));  // a bit for each of 32 rows

RANKGROVE_AVX2 float lowest(__m256 x) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}

RANKGROVE_AVX2 Range<float> range_of(const float* values, int32_t n_rows) {
  const __m256 inf = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  const __m256 sign = _mm256_set1_ps(-0.0f);
  __m256 low = inf;
  __m256 minus_high = inf;
  const auto widen = [&](__m256 value) RANKGROVE_AVX2 {
    const __m256 missing = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    const __m256 x = _mm256_blendv_ps(value, inf, missing);
    low = _mm256_min_ps(low, x);
    minus_high = _mm256_min_ps(minus_high, _mm256_xor_ps(x, sign));
  };
  const int32_t n_grouped = n_rows / 32 * 32;
  for (int32_t i = 0; i < n_grouped; i += 8) widen(_mm256_load_ps(values + i));
  if (n_grouped < n_rows) {
    widen(_mm256_set_m128(_mm_load_ps(values + n_grouped + 8), _mm_load_ps(values + n_grouped)));
  }
  return {lowest(low), -lowest(minus_high)};
}

RANKGROVE_AVX2 double lowest(__m256d x) {
  const __m128d m = _mm_min_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
  return _mm_cvtsd_f64(_mm_min_sd(m, _mm_unpackhi_pd(m, m)));
}

RANKGROVE_AVX2 Range<double> range_of(const double* values, int32_t n_rows) {
  const __m256d inf = _mm256_set1_pd(std::numeric_limits<double>::infinity());
  const __m256d sign = _mm256_set1_pd(-0.0);
  __m256d low = inf;
  __m256d minus_high = inf;
  const auto widen = [&](__m256d value) RANKGROVE_AVX2 {
    const __m256d missing = _mm256_cmp_pd(value, value, _CMP_UNORD_Q);
    const __m256d x = _mm256_blendv_pd(value, inf, missing);
    low = _mm256_min_pd(low, x);
    minus_high = _mm256_min_pd(minus_high, _mm256_xor_pd(x, sign));
  };
  const int32_t n_grouped = n_rows / 32 * 32;
  for (int32_t i = 0; i < n_grouped; i += 4) widen(_mm256_load_pd(values + i));
  for (int32_t i = n_grouped; n_grouped < n_rows && i < n_grouped + 16; i += 8) {
    widen(_mm256_set_m128d(_mm_load_pd(values + i + 4), _mm_load_pd(values + i)));
  }
  return {lowest(low), -lowest(minus_high)};
}

// The outcomes of 32 comparisons, as bits in the order of rows.
RANKGROVE_AVX2 inline uint32_t packed(const __m256i* right) {
  const __m256i bytes = _mm256_packs_epi16(_mm256_blend_epi16(right[0], right[1], 0xaa),
                                           _mm256_blend_epi16(right[2], right[3], 0xaa));
  return static_cast<uint32_t>(_mm256_movemask_epi8(bytes));
}

// Those of 8.
RANKGROVE_AVX2 inline uint32_t packed(__m128i even, __m128i odd) {
  const __m128i both = _mm_blend_epi16(even, odd, 0xaa);
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(both, _mm_setzero_si128())));
}

// Which of 32 rows of a tile exceed a threshold.
RANKGROVE_AVX2 inline uint32_t compare_32(const float* values, __m256 threshold) {
  __m256i right[4];
  for (int32_t j = 0; j < 4; ++j) {
    const __m256 value = _mm256_load_ps(values + 8 * j);
    right[j] = _mm256_castps_si256(_mm256_cmp_ps(value, threshold, _CMP_NLE_UQ));
  }
  return packed(right);
}

RANKGROVE_AVX2 inline uint32_t compare_32(const double* values, __m256d threshold) {
  __m256i right[4];
  for (int32_t j = 0; j < 4; ++j) {
    const __m256d even = _mm256_cmp_pd(_mm256_load_pd(values + 8 * j), threshold, _CMP_NLE_UQ);
    const __m256d odd = _mm256_cmp_pd(_mm256_load_pd(values + 8 * j + 4), threshold, _CMP_NLE_UQ);
    right[j] = _mm256_blend_epi32(_mm256_castpd_si256(even), _mm256_castpd_si256(odd), 0xaa);
  }
  return packed(right);
}

// Which of the first 8 rows of 32 do.
RANKGROVE_AVX2 inline uint32_t compare_8(const float* values, __m256 thresholds) {
  const __m128 threshold = _mm256_castps256_ps128(thresholds);
  const __m128 even = _mm_cmp_ps(_mm_load_ps(values), threshold, _CMP_NLE_UQ);
  const __m128 odd = _mm_cmp_ps(_mm_load_ps(values + 8), threshold, _CMP_NLE_UQ);
  return packed(_mm_castps_si128(even), _mm_castps_si128(odd));
}

RANKGROVE_AVX2 inline uint32_t compare_8(const double* values, __m256d thresholds) {
  const __m128d threshold = _mm256_castpd256_pd128(thresholds);
  __m128i right[2];
  for (int32_t j = 0; j < 2; ++j) {
    const __m128d even = _mm_cmp_pd(_mm_load_pd(values + 8 * j), threshold, _CMP_NLE_UQ);
    const __m128d odd = _mm_cmp_pd(_mm_load_pd(values + 8 * j + 4), threshold, _CMP_NLE_UQ);
    right[j] = _mm_blend_epi32(_mm_castpd_si128(even), _mm_castpd_si128(odd), 0xa);
  }
  return packed(right[0], right[1]);
}

RANKGROVE_AVX2 inline __m256 everywhere(float x) { return _mm256_set1_ps(x); }
RANKGROVE_AVX2 inline __m256d everywhere(double x) { return _mm256_set1_pd(x); }

template <typename V, int32_t n_groups>
RANKGROVE_AVX2 void compare_groups(const V* values, bool eight_more, const V* thresholds,
                                   int32_t first, int32_t last, uint64_t* predicates,
                                   int64_t stride) {
  for (int32_t k = first; k < last; ++k) {
    const auto threshold = everywhere(thresholds[k]);
    auto* bits = reinterpret_cast<GroupBits*>(predicates + k * stride);
    for (int32_t g = 0; g < n_groups; ++g) bits[g] = compare_32(values + 32 * g, threshold);
    if (eight_more) {
      bits[n_groups] = compare_8(values + 32 * n_groups, threshold);
    }
  }
}

template <typename V>
RANKGROVE_AVX2 void compare_avx2(const V* values, int32_t n_rows, const V* thresholds,
                                 int32_t n_thresholds, uint64_t* predicates, bool half) {
  constexpr decltype(&compare_groups<V, 0>) by_groups[] = {
      compare_groups<V, 0>, compare_groups<V, 1>, compare_groups<V, 2>,
      compare_groups<V, 3>, compare_groups<V, 4>, compare_groups<V, 5>,
      compare_groups<V, 6>, compare_groups<V, 7>, compare_groups<V, 8>};
  const int64_t stride = words_per_predicate(half);
  int32_t first = 0;
  int32_t last = 0;
  fill_outside(range_of(values, n_rows), thresholds, n_thresholds, predicates, stride, &first,
               &last);
  by_groups[n_rows / 32](values, n_rows % 32 != 0, thresholds, first, last, predicates, stride);
}

RANKGROVE_AVX2 void split_rows_avx2(const BitNode* nodes, int64_t n_nodes,
                                    const uint64_t* predicates, RowBits* slots, bool half) {
  if (half) {
    split_rows<Half>(nodes, n_nodes, predicates, slots);
  } else {
    split_rows<Whole>(nodes, n_nodes, predicates, slots);
  }
}

RANKGROVE_AVX2 void number_sets_avx2(RowBits* sets, int32_t n_sets, RowBits* planes, bool half) {
  if (half) {
    number_sets<Half>(sets, n_sets, planes);
  } else {
    number_sets<Whole>(sets, n_sets, planes);
  }
}

template <int32_t n_planes>
RANKGROVE_AVX2 void number_rows_of(const uint64_t* const* planes, int32_t n_groups,
                                   uint8_t* bytes) {
  // Each of 4 bytes is spread over 8 rows, each of which looks at its own bit.
  const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                          2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i own = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201ull));
  for (int32_t g = 0; g < n_groups; ++g) {
    __m256i number = _mm256_setzero_si256();
    for (int32_t b = 0; b < n_planes; ++b) {
      const auto* words = reinterpret_cast<const int32_t*>(planes[b]);
      __m256i bits = _mm256_shuffle_epi8(_mm256_set1_epi32(words[g]), spread);
      bits = _mm256_cmpeq_epi8(_mm256_and_si256(bits, own), own);
      number = _mm256_or_si256(number,
                               _mm256_and_si256(bits, _mm256_set1_epi8(static_cast<char>(1 << b))));
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(bytes + 32 * g), number);
  }
}

RANKGROVE_AVX2 void number_rows_avx2(const uint64_t* const* planes, int32_t n_planes,
                                     int32_t n_groups, uint8_t* bytes) {
  switch (n_planes) {
    case 1:
      return number_rows_of<1>(planes, n_groups, bytes);
    case 2:
      return number_rows_of<2>(planes, n_groups, bytes);
    case 3:
      return number_rows_of<3>(planes, n_groups, bytes);
    case 4:
      return number_rows_of<4>(planes, n_groups, bytes);
    case 5:
      return number_rows_of<5>(planes, n_groups, bytes);
    case 6:
      return number_rows_of<6>(planes, n_groups, bytes);
    case 7:
      return number_rows_of<7>(planes, n_groups, bytes);
    case 8:
      return number_rows_of<8>(planes, n_groups, bytes);
    default:
      return number_rows_of<0>(planes, n_groups, bytes);
  }
}

constexpr BitKernels kAvx2{compare_avx2<float>, compare_avx2<double>, split_rows_avx2,
                           number_sets_avx2,    number_rows_avx2,     add_four_plain};

}  // namespace

const BitKernels& avx2_bit_kernels() { return kAvx2; }

}  // namespace rankgrove

#endif
