// Real numbers as multiples of a power of two, whose sums are exact and so the same in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace rankgrove {

// The largest power of two that is at most x, for x > 0; exact, unlike logarithms.
inline double power_of_two_below(double x) {
  return std::ldexp(1.0, std::clamp(std::ilogb(x), -1000, 1000));
}

// A power of two by which n values of at most `largest` can be multiplied and cut to whole numbers
// without any sum of them reaching 2^bits.
inline double fixed_point_scale(double largest, int64_t n, int bits) {
  if (!(largest > 0.0)) return 1.0;
  const int places = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(n, 1)));
  return std::ldexp(1.0, std::min(bits - places - 1 - std::ilogb(largest), 1000));
}

// A sum in two parts: whole numbers, and what is below them in units of 2^-32.
struct FineSum {
  int64_t high = 0;
  int64_t low = 0;

  void add(double scaled) {
    const auto whole = static_cast<int64_t>(scaled);
    high += whole;
    low += static_cast<int64_t>((scaled - static_cast<double>(whole)) * 0x1.0p32);
  }
  FineSum& operator+=(const FineSum& other) {
    high += other.high;
    low += other.low;
    return *this;
  }
  double value() const { return static_cast<double>(high) + static_cast<double>(low) * 0x1.0p-32; }
};

}  // namespace rankgrove
