// Numbers as text: decimal text to the nearest float or double, without locale.
#pragma once

namespace rankgrove {

enum class NumberStatus { kOk, kMalformed, kOverflow };

// True for the characters that may follow a number in LETOR text.
inline bool ends_token(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '#';
}

// Parses the number text [begin, end): sign, digits, point, exponent; inf and infinity; and nan, na
// and null as NaN (words in any case). The result is the nearest float (double);
// text too small for it becomes zero, text too large is kOverflow.
NumberStatus parse_float(const char* begin, const char* end, float& value);
NumberStatus parse_double(const char* begin, const char* end, double& value);

}  // namespace rankgrove
