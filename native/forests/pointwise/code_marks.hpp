// A set of the codes that the documents of a node have; codes are added in any order and read in
// ascending order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/simd.hpp"

namespace rankgrove::forests {

// No code is marked between two nodes: marks are gone when they are taken, so that a small node
// does not pay for all codes.
class CodeMarks {
 public:
  explicit CodeMarks(size_t n_codes) : marks_((n_codes + kWord - 1) / kWord * kWord) {}

  uint8_t* data() { return marks_.data(); }

  // Calls visit(code) for the marked codes, all of which lie in low .. high.
  template <typename Visit>
  void take(int32_t low, int32_t high, Visit&& visit) {
    for (int32_t begin = low / kWord * kWord; begin <= high; begin += kWord) {
      for (uint64_t set = take_word(begin); set != 0; set &= set - 1) {
        visit(begin + std::countr_zero(set));
      }
    }
  }

  static constexpr uint8_t kMark = 0x80;  // the bit that a vector of bytes is asked for at once

 private:
  static constexpr int32_t kWord = 64;

  // Bit i: whether code begin + i was marked.
  uint64_t take_word(int32_t begin) {
    uint8_t* const marks = marks_.data() + begin;
    uint64_t set = 0;
#if RANKGROVE_X86
    for (int32_t part = 0; part < kWord; part += 16) {
      const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(marks + part));
      set |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(some))) << part;
    }
#else
    for (int32_t i = 0; i < kWord; ++i) set |= static_cast<uint64_t>(marks[i] / kMark) << i;
#endif
    std::memset(marks, 0, kWord);
    return set;
  }

  std::vector<uint8_t> marks_;
};

}  // namespace rankgrove::forests
