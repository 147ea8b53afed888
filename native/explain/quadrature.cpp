#include "explain/quadrature.hpp"

#include <cmath>
#include <numbers>

#include "common/simd.hpp"

namespace rankgrove {

Quadrature::Quadrature(int32_t n)
    : n_points(n),
      padded((n + kLanes64 - 1) / kLanes64 * kLanes64),
      at(padded, 0.5),
      rest(padded, 0.5),
      inverse_rest(padded, 2.0),
      weight(padded, 0.0) {
  for (int32_t i = 0; i < (n + 1) / 2; ++i) {
    // Newton's method on the Legendre polynomial of degree n, from the usual first guess.
    double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5));
    double slope = 1.0;
    for (int32_t step = 0; step < 100; ++step) {
      double value = 1.0;
      double before = 0.0;
      for (int32_t k = 1; k <= n; ++k) {
        const double next = ((2.0 * k - 1) * x * value - (k - 1.0) * before) / k;
        before = value;
        value = next;
      }
      slope = n * (before - x * value) / (1 - x * x);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    const int32_t mirrored = n - 1 - i;
    at[i] = rest[mirrored] = (1 - x) / 2;
    rest[i] = at[mirrored] = (1 + x) / 2;
    weight[i] = weight[mirrored] = 1 / ((1 - x * x) * slope * slope);
  }
  for (int32_t i = 0; i < n; ++i) inverse_rest[i] = 1 / rest[i];
}

}  // namespace rankgrove
