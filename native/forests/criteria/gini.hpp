// The fall of the Gini impurity, sum of p_c (1 - p_c).
//
// score(cell) = sum of n_c^2 / n = n * (1 - impurity).
#pragma once

#include <cstdint>
#include <string_view>

#include "forests/criteria/families.hpp"

namespace rankgrove::forests {

template <typename Sums>
struct Gini : Sums {
  Gini(const ForestTargets& targets, const CriterionTable&) : Sums(targets) {}

  double score(const typename Sums::Cell* cell) const {
    double squares = 0;
    double n = 0;
    for (int32_t c = 0; c < this->n_classes(); ++c) {
      const double count = this->count(cell, c);
      squares += count * count;
      n += count;
    }
    return n > 0 ? squares / n : 0.0;
  }

  // An upper bound of the scores of splits of these documents, except for rounding.
  double perfect_score(const NodeRows&, const typename Sums::Cell* total) const {
    return (1 - 1e-12) * this->weight(total);
  }
};

struct GiniCriterion : OfClasses<Gini> {
  static constexpr std::string_view name = "gini";
};

}  // namespace rankgrove::forests
