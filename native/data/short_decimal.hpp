// The nearest float of a short decimal number, without big-number arithmetic.
#pragma once

#include <cstdint>
#include <cstring>

namespace rankgrove {
namespace {

constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Computes digits / 10^n_decimals, with a minus if `negative` is 1, for digits < 10^15 and
// n_decimals <= 15. Both are exact doubles, so the quotient is the nearest double; rounding it to
// float gives the nearest float unless it lies exactly half-way between two floats, where the first
// rounding may have hidden on which side the number was. Then, and only then, the answer is false.
inline bool short_decimal(uint64_t digits, int64_t n_decimals, uint32_t negative, float& value) {
  const double quotient =
      static_cast<double>(static_cast<int64_t>(digits)) / kPowersOfTen[n_decimals];
  uint64_t bits;
  std::memcpy(&bits, &quotient, sizeof(bits));
  if ((bits & 0x1fffffffull) == 0x10000000ull) return false;
  const auto rounded = static_cast<float>(quotient);
  uint32_t rounded_bits;
  std::memcpy(&rounded_bits, &rounded, sizeof(rounded_bits));
  rounded_bits |= negative << 31;
  std::memcpy(&value, &rounded_bits, sizeof(rounded_bits));
  return true;
}

}  // namespace
}  // namespace rankgrove
