#include "common/simd.hpp"

#if RANKGROVE_X86

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/letor_rows.hpp"
#include "data/number_text.hpp"
#include "data/utf8.hpp"

#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,lzcnt")

#include "data/letor_row_parser.hpp"
#include "data/short_decimal.hpp"

namespace rankgrove {
namespace {

using Shuffle = std::array<uint8_t, 16>;

// kAlign[point][end] moves the digits of a number of `end` characters, with its decimal point at
// `point` (point == end: none), to the right end of a vector and puts zeros before them.
constexpr auto kAlign = [] {
  std::array<std::array<Shuffle, 16>, 16> table{};
  for (int point = 0; point < 16; ++point) {
    for (int end = 0; end < 16; ++end) {
      const int n_digits = point < end ? end - 1 : end;
      for (int j = 0; j < 16; ++j) {
        const int digit = j - (16 - n_digits);
        table[point][end][j] =
            digit < 0 ? 0x80 : static_cast<uint8_t>(digit < point ? digit : digit + 1);
      }
    }
  }
  return table;
}();

struct VectorValueReader {
  static const char* read(const char* const begin, float& value) {
    if (begin[1] == ' ' && is_digit(begin[0])) {  // by far the most frequent values
      value = static_cast<float>(begin[0] - '0');
      return begin + 1;
    }
    const bool negative = *begin == '-';
    const char* const p = begin + negative;
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i digits = _mm_sub_epi8(text, _mm_set1_epi8('0'));
    const __m128i are_digits = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
    const uint32_t others = ~static_cast<uint32_t>(_mm_movemask_epi8(are_digits));
    const uint32_t point = _tzcnt_u32(others);  // bit 16 is set, so this is at most 16
    const bool has_point = p[point] == '.';
    const uint32_t end = has_point ? _tzcnt_u32(_blsr_u32(others)) : point;
    if (end - has_point - 1u >= 15u - has_point) return begin;  // no digit, or too many characters
    const __m128i aligned = _mm_shuffle_epi8(
        digits, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kAlign[point][end].data())));
    const __m128i pairs = _mm_maddubs_epi16(
        aligned, _mm_setr_epi8(10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_setr_epi16(100, 1, 100, 1, 100, 1, 100, 1));
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours),
                                          _mm_setr_epi16(10000, 1, 10000, 1, 10000, 1, 10000, 1));
    const auto halves = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
    const uint64_t number = (halves & 0xffffffffu) * 100'000'000u + (halves >> 32);
    const auto n_decimals = static_cast<int64_t>(end - point - has_point);
    return short_decimal(number, n_decimals, negative, value) ? p + end : begin;
  }
};

}  // namespace

void parse_rows_avx2(const LetorLayout& layout, LetorRows& rows) {
  RowParser<VectorValueReader>(layout, rows).run();
}

}  // namespace rankgrove

#pragma GCC pop_options

#endif
