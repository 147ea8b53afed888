// The fall of the mean squared error around the mean target.
//
// score(cell) = (sum of targets)^2 / n = sum of squared targets - n * mean squared error.
#pragma once

#include <string_view>

#include "forests/criteria/families.hpp"

namespace rankgrove::forests {

template <typename Sums>
struct SquaredError : Sums {
  SquaredError(const ForestTargets& targets, const CriterionTable&) : Sums(targets) {}

  double score(const typename Sums::Cell* cell) const {
    const double weight = this->weight(cell);
    const double sum = this->sum(cell);
    return weight > 0 ? sum * sum / weight : 0.0;
  }

  // What no split of these documents can score more than, but for rounding.
  double perfect_score(const NodeRows& documents, const typename Sums::Cell*) const {
    return (1 - 1e-12) * this->squares(documents);
  }
};

struct SquaredErrorCriterion : OfTargets<SquaredError> {
  static constexpr std::string_view name = "squared_error";
};

}  // namespace rankgrove::forests
