#include <cstdint>

#include "data/letor_row_parser.hpp"
#include "data/short_decimal.hpp"

namespace rankgrove {
namespace {

struct PlainValueReader {
  static const char* read(const char* const begin, float& value) {
    const char* p = begin + (*begin == '-');
    uint64_t digits = 0;
    int64_t n_digits = 0;
    for (; is_digit(*p) && n_digits < 15; ++p, ++n_digits) {
      digits = digits * 10 + static_cast<uint64_t>(*p - '0');
    }
    int64_t n_decimals = 0;
    if (*p == '.') {
      for (++p; is_digit(*p) && n_digits < 15; ++p, ++n_digits, ++n_decimals) {
        digits = digits * 10 + static_cast<uint64_t>(*p - '0');
      }
    }
    if (n_digits == 0) return begin;
    return short_decimal(digits, n_decimals, *begin == '-', value) ? p : begin;
  }
};

}  // namespace

void parse_rows_plain(const LetorLayout& layout, LetorRows& rows) {
  RowParser<PlainValueReader>(layout, rows).run();
}

}  // namespace rankgrove
