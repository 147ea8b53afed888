#include "forests/pointwise/byte_sums.hpp"

#include <bit>
#include <utility>

#include "common/simd.hpp"

namespace rankgrove::forests {

#if RANKGROVE_X86

namespace {

// Bit i: whether byte i is equal to all bytes of `wanted`.
RANKGROVE_AVX2 inline uint64_t equal_bytes(const uint8_t* bytes, __m256i wanted) {
  const auto half = [&](const uint8_t* from) RANKGROVE_AVX2 {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(some, wanted)));
  };
  return static_cast<uint64_t>(half(bytes + 32)) << 32 | half(bytes);
}

}  // namespace

bool ByteSums::available() { return has_avx2(); }

RANKGROVE_AVX2 int32_t ByteSums::running(const uint8_t* codes, const uint64_t* items, int64_t n,
                                         uint8_t usual, uint64_t total, int32_t* present,
                                         uint64_t* left) {
  constexpr uint8_t kMark = 0xff;
  const __m256i usual_bytes = _mm256_set1_epi8(static_cast<char>(usual));
  uint64_t rest = total;
  for (int64_t begin = 0; begin < n; begin += 64) {
    uint64_t others = ~equal_bytes(codes + begin, usual_bytes);
    if (n - begin < 64) others &= (uint64_t{1} << (n - begin)) - 1;
    for (; others != 0; others &= others - 1) {
      const int64_t i = begin + std::countr_zero(others);
      const size_t code = codes[i];
      const uint64_t item = items[i];
      marks_[code] = kMark;
      cells_[code] += item;
      rest -= item;
    }
  }
  if (rest != 0) {
    marks_[usual] = kMark;
    cells_[usual] = rest;
  }
  // Four codes at a time, of which the last may be none: that is fewer jumps to guess.
  int32_t n_present = 0;
  const __m256i marked = _mm256_set1_epi8(static_cast<char>(kMark));
  for (int32_t begin = 0; begin < 256; begin += 64) {
    uint64_t set = equal_bytes(marks_ + begin, marked);
    _mm256_store_si256(reinterpret_cast<__m256i*>(marks_ + begin), _mm256_setzero_si256());
    _mm256_store_si256(reinterpret_cast<__m256i*>(marks_ + begin + 32), _mm256_setzero_si256());
    const int32_t end = n_present + std::popcount(set);
    for (; n_present < end; n_present += 4) {
      for (int32_t k = 0; k < 4; ++k, set &= set - 1) {
        present[n_present + k] = begin + std::countr_zero(set);
      }
    }
    n_present = end;
  }
  uint64_t sum = 0;
  for (int32_t k = 0; k < n_present; ++k) {
    sum += std::exchange(cells_[present[k]], 0);
    left[k] = sum;
  }
  return n_present;
}

#else

bool ByteSums::available() { return false; }

int32_t ByteSums::running(const uint8_t*, const uint64_t*, int64_t, uint8_t, uint64_t, int32_t*,
                          uint64_t*) {
  return 0;
}

#endif

}  // namespace rankgrove::forests
