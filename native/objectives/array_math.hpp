// exp(), powers and sums over arrays, the same bits on every processor.
#pragma once

#include <cstddef>

namespace rankgrove {

// out[i] = exp(scale * (x[i] - shift)) where the exponent is in [-kExpRange, kExpRange]; 0 below,
// exp(kExpRange) above. Relative error below 4e-16. x and out may be the same array.
constexpr double kExpRange = 700.0;
void exp_array(const double* x, double shift, double scale, size_t n, double* out);

// As above for single precision results: 0 where the exponent is below -85, so that no result is
// subnormal (those are slow to compute with). Exponents above 85 give exp(85).
void exp_array(const double* x, double shift, double scale, size_t n, float* out);

// out[i] = |x[i] - origin|^power for a power above 0, with a relative error below 1e-5 for powers
// up to 10. Distances below 2^-126 count as that one, powers below 2^-126 are 0, those above 2^126
// infinite.
void power_array(const float* x, float origin, float power, size_t n, float* out);

// Sum in four lanes.
double sum_array(const double* x, size_t n);

}  // namespace rankgrove
