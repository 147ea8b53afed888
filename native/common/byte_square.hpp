// Transposition of 16 x 16 bytes.
#pragma once

#include <cstdint>

#include "common/simd.hpp"

namespace rankgrove {

inline constexpr int64_t kByteSquare = 16;

// out[c * out_stride + r] = rows[r][c].
inline void turn_byte_square(const uint8_t* const* rows, uint8_t* out, int64_t out_stride) {
#if RANKGROVE_X86
  __m128i now[kByteSquare];
  __m128i next[kByteSquare];
  for (int64_t r = 0; r < kByteSquare; ++r) {
    now[r] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[r]));
  }
  // A byte's place is (row, column) in 4 + 4 bits; each round turns these 8 bits by one.
  for (int round = 0; round < 4; ++round) {
    for (int64_t r = 0; r < kByteSquare / 2; ++r) {
      next[2 * r] = _mm_unpacklo_epi8(now[r], now[r + kByteSquare / 2]);
      next[2 * r + 1] = _mm_unpackhi_epi8(now[r], now[r + kByteSquare / 2]);
    }
    for (int64_t r = 0; r < kByteSquare; ++r) now[r] = next[r];
  }
  for (int64_t c = 0; c < kByteSquare; ++c) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + c * out_stride), now[c]);
  }
#else
  for (int64_t c = 0; c < kByteSquare; ++c) {
    for (int64_t r = 0; r < kByteSquare; ++r) out[c * out_stride + r] = rows[r][c];
  }
#endif
}

}  // namespace rankgrove
