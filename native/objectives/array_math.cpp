#include "objectives/array_math.hpp"

#include <limits>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

constexpr double kInverseFactorial[] = {
    1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,      1.0 / 720,
    1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};

// exp(x) = 2^k exp(r) with k = round(x / ln 2) and |r| <= ln(2) / 2, where the Taylor polynomial
// has a relative error below 2e-16 (degree 12) or 6e-9 (degree 7). For |x| <= kExpRange.
template <int kDegree>
RANKGROVE_INLINE void exp_in_range(Lanes64& x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 0x1.62e42fee00000p-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRounder = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const Lanes64 shifted = x * kLog2E + kRounder;
  const Lanes64 k = shifted - kRounder;
  const Lanes64 r = (x - k * kLn2High) - k * kLn2Low;
  Lanes64 p = Lanes64{} + kInverseFactorial[kDegree];
#pragma GCC unroll 16
  for (int d = kDegree - 1; d >= 0; --d) p = p * r + kInverseFactorial[d];
  x = (Lanes64)((LaneMask64)p + ((LaneMask64)shifted << 52));  // of the bits, not the values
}

template <int kDegree>
RANKGROVE_INLINE void exp_lanes(Lanes64& x, double shift, double scale, double range) {
  const Lanes64 exponent = scale * (x - shift);
  const Lanes64 low = exponent < -range ? Lanes64{} - range : exponent;
  x = low > range ? Lanes64{} + range : low;
  exp_in_range<kDegree>(x);
  x = exponent < -range ? Lanes64{} : x;
}

template <int kDegree, typename T>
RANKGROVE_INLINE void fill(const double* x, double shift, double scale, size_t n, double range,
                           T* out) {
  Lanes64 lanes;
  size_t i = 0;
  for (; i + kLanes64 <= n; i += kLanes64) {
    load(lanes, x + i);
    exp_lanes<kDegree>(lanes, shift, scale, range);
    for (int v = 0; v < kLanes64; ++v) out[i + v] = static_cast<T>(lanes[v]);
  }
  if (i == n) return;
  lanes = Lanes64{} + shift;
  std::memcpy(&lanes, x + i, (n - i) * sizeof(double));
  exp_lanes<kDegree>(lanes, shift, scale, range);
  for (size_t v = 0; i + v < n; ++v) out[i + v] = static_cast<T>(lanes[v]);
}

RANKGROVE_SIMD void fill_double(const double* x, double shift, double scale, size_t n,
                                double* out) {
  fill<12>(x, shift, scale, n, kExpRange, out);
}

RANKGROVE_SIMD void fill_float(const double* x, double shift, double scale, size_t n, float* out) {
  fill<7>(x, shift, scale, n, 85.0, out);
}

// The base-2 logarithm of numbers from 2^-126 on: that of m = x / 2^k, in [sqrt(1/2), sqrt(2)), is
// 2 / ln 2 times the series of artanh(t) with t = (m - 1) / (m + 1), cut after t^9 / 9.
RANKGROVE_INLINE void log2_lanes(Lanes& x) {
  constexpr int kHalfRoot = 0x3f3504f3;  // bits of sqrt(1/2)
  constexpr float kScale = 2.885390081777927f;
  const LaneMask k = ((LaneMask)x - kHalfRoot) >> 23;
  const Lanes m = (Lanes)((LaneMask)x - (k << 23));
  const Lanes t = (m - 1.0f) / (m + 1.0f);
  const Lanes u = t * t;
  const Lanes series = 1.0f + u * (1.0f / 3 + u * (1.0f / 5 + u * (1.0f / 7 + u * (1.0f / 9))));
  x = __builtin_convertvector(k, Lanes) + kScale * t * series;
}

// 2^x = 2^k 2^r with k = round(x), where the Taylor polynomial of 2^r has a relative error below
// 2e-8.
RANKGROVE_INLINE void exp2_lanes(Lanes& x) {
  constexpr float kLn2 = 0.6931471805599453f;
  constexpr float kRounder = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  const Lanes low = x < -126.0f ? Lanes{} - 126.0f : x;
  const Lanes bounded = low > 126.0f ? Lanes{} + 126.0f : low;
  const Lanes shifted = bounded + kRounder;
  const Lanes r = (bounded - (shifted - kRounder)) * kLn2;
  Lanes p = Lanes{} + static_cast<float>(kInverseFactorial[7]);
#pragma GCC unroll 8
  for (int d = 6; d >= 0; --d) p = p * r + static_cast<float>(kInverseFactorial[d]);
  const Lanes found = (Lanes)((LaneMask)p + ((LaneMask)shifted << 23));
  const Lanes large = x > 126.0f ? Lanes{} + std::numeric_limits<float>::infinity() : found;
  x = x < -126.0f ? Lanes{} : large;
}

RANKGROVE_INLINE void power_lanes(Lanes& x, float origin, float power) {
  constexpr float kLeast = 0x1p-126f;
  const Lanes difference = x - origin;
  const Lanes distance = difference < 0.0f ? -difference : difference;
  x = distance < kLeast ? Lanes{} + kLeast : distance;
  log2_lanes(x);
  x *= power;
  exp2_lanes(x);
}

RANKGROVE_SIMD void fill_powers(const float* x, float origin, float power, size_t n, float* out) {
  Lanes lanes;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    load(lanes, x + i);
    power_lanes(lanes, origin, power);
    store(out + i, lanes);
  }
  if (i == n) return;
  lanes = Lanes{} + origin;
  std::memcpy(&lanes, x + i, (n - i) * sizeof(float));
  power_lanes(lanes, origin, power);
  std::memcpy(out + i, &lanes, (n - i) * sizeof(float));
}

}  // namespace

void power_array(const float* x, float origin, float power, size_t n, float* out) {
  fill_powers(x, origin, power, n, out);
}

void exp_array(const double* x, double shift, double scale, size_t n, double* out) {
  fill_double(x, shift, scale, n, out);
}

void exp_array(const double* x, double shift, double scale, size_t n, float* out) {
  fill_float(x, shift, scale, n, out);
}

RANKGROVE_SIMD double sum_array(const double* x, size_t n) {
  Lanes64 sum = {}, lanes;
  size_t i = 0;
  for (; i + kLanes64 <= n; i += kLanes64) {
    load(lanes, x + i);
    sum += lanes;
  }
  double total = sum_lanes(sum);
  for (; i < n; ++i) total += x[i];
  return total;
}

}  // namespace rankgrove
