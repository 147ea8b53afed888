// Vectorised passes over the byte codes of a node's documents, 16 at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/simd.hpp"

namespace rankgrove::forests {

// From this many documents on, taking them 16 at a time is faster.
inline constexpr int64_t kByteVector = 16;

// This many bytes behind the codes of a node may be read.
inline constexpr int64_t kCodeSlack = 64;

struct CountAndLabels {
  uint64_t count;
  uint64_t labels;  // their sum
};

#if RANKGROVE_X86

// Calls visit(first, fresh): 16 documents from `first` on, of which those are fresh that have not
// been visited before; the last 16 may overlap those before. n >= 16.
template <typename Visit>
inline void visit_sixteens(int64_t n, Visit&& visit) {
  alignas(16) static constexpr uint8_t kOldThenFresh[32] = {
      0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
      255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  const __m128i all = _mm_set1_epi8(-1);
  int64_t i = 0;
  for (; i + kByteVector <= n; i += kByteVector) visit(i, all);
  if (i == n) return;
  visit(n - kByteVector,
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOldThenFresh + (n - i))));
}

inline __m128i sixteen(const uint8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

#endif

// Smallest and largest code; n > 0.
inline std::pair<uint8_t, uint8_t> range_of(const uint8_t* codes, int64_t n) {
  uint8_t low = codes[0];
  uint8_t high = codes[0];
  int64_t done = 1;
#if RANKGROVE_X86
  if (n >= kByteVector) {
    __m128i lowest = sixteen(codes);
    __m128i highest = lowest;
    visit_sixteens(n, [&](int64_t i, __m128i) {
      lowest = _mm_min_epu8(lowest, sixteen(codes + i));
      highest = _mm_max_epu8(highest, sixteen(codes + i));
    });
    lowest = _mm_min_epu8(lowest, _mm_srli_si128(lowest, 8));
    highest = _mm_max_epu8(highest, _mm_srli_si128(highest, 8));
    lowest = _mm_min_epu8(lowest, _mm_srli_si128(lowest, 4));
    highest = _mm_max_epu8(highest, _mm_srli_si128(highest, 4));
    lowest = _mm_min_epu8(lowest, _mm_srli_si128(lowest, 2));
    highest = _mm_max_epu8(highest, _mm_srli_si128(highest, 2));
    lowest = _mm_min_epu8(lowest, _mm_srli_si128(lowest, 1));
    highest = _mm_max_epu8(highest, _mm_srli_si128(highest, 1));
    low = static_cast<uint8_t>(_mm_cvtsi128_si32(lowest));
    high = static_cast<uint8_t>(_mm_cvtsi128_si32(highest));
    done = n;
  }
#endif
  for (int64_t i = done; i < n; ++i) {
    low = std::min(low, codes[i]);
    high = std::max(high, codes[i]);
  }
  return {low, high};
}

// The documents whose code is at most `last`.
inline CountAndLabels left_documents(const uint8_t* codes, const uint8_t* labels, int64_t n,
                                     uint8_t last) {
  CountAndLabels result{0, 0};
  int64_t done = 0;
#if RANKGROVE_X86
  if (n >= kByteVector) {
    const __m128i bound = _mm_set1_epi8(static_cast<char>(last));
    const __m128i zero = _mm_setzero_si128();
    __m128i count = zero;
    __m128i sum = zero;
    visit_sixteens(n, [&](int64_t i, __m128i fresh) {
      const __m128i code = sixteen(codes + i);
      const __m128i left = _mm_and_si128(_mm_cmpeq_epi8(_mm_min_epu8(code, bound), code), fresh);
      count = _mm_add_epi64(count, _mm_sad_epu8(_mm_sub_epi8(zero, left), zero));
      sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_and_si128(left, sixteen(labels + i)), zero));
    });
    result.count = static_cast<uint64_t>(_mm_cvtsi128_si64(count)) +
                   static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_srli_si128(count, 8)));
    result.labels = static_cast<uint64_t>(_mm_cvtsi128_si64(sum)) +
                    static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_srli_si128(sum, 8)));
    done = n;
  }
#endif
  for (int64_t i = done; i < n; ++i) {
    const bool left = codes[i] <= last;
    result.count += left;
    result.labels += left ? labels[i] : 0;
  }
  return result;
}

}  // namespace rankgrove::forests
