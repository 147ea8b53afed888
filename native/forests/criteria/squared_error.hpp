// The fall of the mean squared error around the mean target.
//
// score(cell) = (sum of targets)^2 / n = sum of squared targets - n * mean squared error.
#pragma once

#include <cstdint>
#include <string_view>

#include "forests/criteria/families.hpp"
#include "forests/criteria/packed_scores.hpp"

namespace rankgrove::forests {

template <typename Sums>
struct SquaredError : Sums {
  SquaredError(const ForestTargets& targets, const CriterionTable&) : Sums(targets) {}

  double score(const typename Sums::Cell* cell) const {
    const double weight = this->weight(cell);
    const double sum = this->sum(cell);
    return weight > 0 ? sum * sum / weight : 0.0;
  }

  // The same for both children of many candidate splits (see packed_scores.hpp).
  double children_scores(uint64_t* left, int64_t n, uint64_t total, double min_documents,
                         double* scores) const
    requires requires(const Sums& sums) { sums.fields(); }
  {
    return squared_error_scores(this->fields(), left, n, total, min_documents, scores);
  }

  bool may_score_more(uint64_t* left, int64_t n, uint64_t total, double score) const
    requires requires(const Sums& sums) { sums.fields(); }
  {
    return forests::may_score_more(this->fields(), left, n, total, score);
  }

  // An upper bound of the scores of splits of these documents, except for rounding.
  double perfect_score(const NodeRows& documents, const typename Sums::Cell*) const {
    return (1 - 1e-12) * this->squares(documents);
  }
};

struct SquaredErrorCriterion : OfTargets<SquaredError> {
  static constexpr std::string_view name = "squared_error";
};

}  // namespace rankgrove::forests
