#include "data/number_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>

namespace rankgrove {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Compares [begin, end) with a lower-case word, ignoring the case of ASCII letters.
bool is_word(const char* begin, const char* end, const char* word) {
  for (; begin != end && *word != '\0'; ++begin, ++word) {
    const char c = *begin >= 'A' && *begin <= 'Z' ? static_cast<char>(*begin + 32) : *begin;
    if (c != *word) return false;
  }
  return begin == end && *word == '\0';
}

// What from_chars needs to know beforehand: the text is a plain decimal number, and whether a
// number out of range is too large (true) or too small (false).
bool is_decimal(const char* p, const char* end, bool& large) {
  int64_t digits = 0;
  int64_t magnitude = 0;  // number of digits before the point, without leading zeros
  bool nonzero = false;
  for (; p != end && is_digit(*p); ++p, ++digits) {
    nonzero |= *p != '0';
    magnitude += nonzero;
  }
  if (p != end && *p == '.') {
    for (++p; p != end && is_digit(*p); ++p, ++digits) {
      if (!nonzero && *p == '0') --magnitude;
      nonzero |= *p != '0';
    }
  }
  if (digits == 0) return false;
  int64_t exponent = 0;
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool negative = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    if (p == end) return false;
    for (; p != end && is_digit(*p); ++p) {
      if (exponent < 1'000'000'000'000) exponent = exponent * 10 + (*p - '0');
    }
    if (negative) exponent = -exponent;
  }
  large = magnitude + exponent > 0;
  return p == end;
}

// Whether the number is infinite if it is rounded to double first, as readers of tables do.
template <typename T>
bool overflows_as_double(const char* begin, const char* end) {
  double value = 0.0;
  std::from_chars(begin, end, value);
  return std::isinf(static_cast<T>(value));
}

template <typename T>
NumberStatus parse_number(const char* begin, const char* end, T& value) {
  const bool negative = begin != end && *begin == '-';
  const char* const first = begin;
  if (begin != end && (*begin == '-' || *begin == '+')) ++begin;
  bool large = false;
  if (is_decimal(begin, end, large)) {
    value = T{0};
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc::result_out_of_range || std::isinf(value)) {
      if (large) return NumberStatus::kOverflow;
      value = T{0};
    } else if (error != std::errc() || stop != end) {
      return NumberStatus::kMalformed;
    } else if (value == std::numeric_limits<T>::max() && overflows_as_double<T>(begin, end)) {
      return NumberStatus::kOverflow;
    }
  } else if (is_word(begin, end, "inf") || is_word(begin, end, "infinity")) {
    value = std::numeric_limits<T>::infinity();
  } else if (is_word(begin, end, "nan") || is_word(first, end, "na") ||
             is_word(first, end, "null")) {
    value = std::numeric_limits<T>::quiet_NaN();
    return NumberStatus::kOk;
  } else {
    return NumberStatus::kMalformed;
  }
  if (negative) value = -value;
  return NumberStatus::kOk;
}

}  // namespace

NumberStatus parse_float(const char* begin, const char* end, float& value) {
  return parse_number(begin, end, value);
}

NumberStatus parse_double(const char* begin, const char* end, double& value) {
  return parse_number(begin, end, value);
}

}  // namespace rankgrove
