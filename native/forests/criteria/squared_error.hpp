// The fall of the mean squared error around the mean target.
//
// score(cell) = (sum of targets)^2 / n = sum of squared targets - n * mean squared error.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/criteria/class_counts.hpp"

namespace rankgrove::forests {

template <typename Sums>
struct SquaredError : Sums {
  SquaredError(const ForestData& data, const std::vector<double>&)
      : Sums(data), class_value(data.class_value.data()) {}

  double score(const typename Sums::Cell* cell) const {
    double sum = 0;
    double n = 0;
    if constexpr (std::is_same_v<Sums, Moments>) {
      n = cell[0];
      sum = cell[1];
    } else {
      for (int32_t c = 0; c < this->n_classes(); ++c) {
        sum += class_value[c] * cell[c];
        n += cell[c];
      }
    }
    return n > 0 ? sum * sum / n : 0.0;
  }

  const double* class_value;
};

}  // namespace rankgrove::forests
