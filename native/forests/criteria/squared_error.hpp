// The fall of the mean squared error around the mean target.
//
// score(cell) = (sum of targets)^2 / n = sum of squared targets - n * mean squared error.
#pragma once

#include "forests/criteria/class_counts.hpp"

namespace rankgrove::forests {

template <typename Sums>
struct SquaredError : Sums {
  explicit SquaredError(const ForestData& data) : Sums(data) {}

  // Both sums begin with the weight and the weighted sum of targets.
  double score(const double* cell) const { return cell[0] > 0 ? cell[1] * cell[1] / cell[0] : 0.0; }
};

}  // namespace rankgrove::forests
