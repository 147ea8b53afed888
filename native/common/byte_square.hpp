// Turns squares of 16 x 16 bytes over: rows become columns.
#pragma once

#include <cstdint>
#include <cstring>

namespace rankgrove {

inline constexpr int64_t kByteSquare = 16;

// out[c * out_stride + r] = rows[r][c].
inline void turn_byte_square(const uint8_t* const* rows, uint8_t* out, int64_t out_stride) {
  using Bytes = uint8_t __attribute__((vector_size(kByteSquare)));
  Bytes now[kByteSquare];
  Bytes next[kByteSquare];
  for (int64_t r = 0; r < kByteSquare; ++r) std::memcpy(&now[r], rows[r], kByteSquare);
  // A byte's place is (row, column) in 4 + 4 bits; each round turns these 8 bits by one.
  for (int round = 0; round < 4; ++round) {
    for (int64_t r = 0; r < kByteSquare / 2; ++r) {
      const Bytes a = now[r];
      const Bytes b = now[r + kByteSquare / 2];
      next[2 * r] =
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * r + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                14, 30, 15, 31);
    }
    std::memcpy(now, next, sizeof(now));
  }
  for (int64_t c = 0; c < kByteSquare; ++c) std::memcpy(out + c * out_stride, &now[c], kByteSquare);
}

}  // namespace rankgrove
