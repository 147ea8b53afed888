// Gauss-Legendre points on [0, 1], by which the weights of Shapley's formula become short sums.
#pragma once

#include <cstdint>
#include <vector>

namespace rankgrove {

// The sum of weight[i] * p(at[i]) is the integral of p over [0, 1] for each polynomial p of a
// degree below 2 * n_points. All points are inside the interval and all weights positive, so that
// sums of positive values lose no digits. The arrays are filled up with points of weight 0 to a
// whole number of vectors.
struct Quadrature {
  explicit Quadrature(int32_t n_points);

  int32_t n_points;
  int32_t padded;
  std::vector<double> at;
  std::vector<double> rest;          // 1 - at
  std::vector<double> inverse_rest;  // 1 / (1 - at)
  std::vector<double> weight;
};

}  // namespace rankgrove
