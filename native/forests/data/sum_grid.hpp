// Terms of sums as whole multiples of a power of two, with so few bits that sums of all of them are
// exact: they have the same bits in any order, on any number of workers. The rests of the
// rounding can be added up separately.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace rankgrove::forests {

class SumGrid {
 public:
  SumGrid() = default;  // rounds nothing

  // For sums of up to n terms of absolute values up to `largest`.
  SumGrid(double largest, int64_t n) {
    constexpr int kLeast = -1000, kMost = 960;  // so that nothing leaves the range of a double
    const int n_bits = std::max(2, static_cast<int>(std::bit_width(static_cast<uint64_t>(n))));
    int exponent = kLeast;
    if (largest > 0) std::frexp(largest, &exponent);
    exponent_ = std::max(exponent + n_bits - 53, kLeast);
    if (!std::isfinite(largest) || exponent_ > kMost) return;
    shift_ = std::ldexp(1.5, exponent_ + 52);
    per_unit_ = std::ldexp(1.0, -exponent_);
    rest_per_unit_ = std::ldexp(1.0, 62 - n_bits);  // a rest is half a unit at most
  }

  bool exact() const { return shift_ != 0; }

  // The closest multiple of the unit.
  double rounded(double term) const { return (term + shift_) - shift_; }
  int64_t units(double term) const { return static_cast<int64_t>(rounded(term) * per_unit_); }
  double value(int64_t units) const { return static_cast<double>(units) / per_unit_; }
  double unit() const { return 1 / per_unit_; }

  // The rest of a term that rounding removed, and the sum with the rests of all its terms.
  int64_t rest(double term) const {
    return static_cast<int64_t>((term - rounded(term)) * per_unit_ * rest_per_unit_);
  }
  double with_rests(double sum, int64_t rests) const {
    return sum + static_cast<double>(rests) / rest_per_unit_ / per_unit_;
  }

 private:
  int exponent_ = 0;
  double shift_ = 0;     // 1.5 x 2^52 units: a number added to it loses the digits below a unit
  double per_unit_ = 1;  // units of 1
  double rest_per_unit_ = 1;
};

}  // namespace rankgrove::forests
