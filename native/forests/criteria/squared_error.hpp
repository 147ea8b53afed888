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

  // What no split of these documents can score more than, but for rounding.
  double perfect_score(const NodeRows& documents, const double*) const {
    double squares = 0;
    for (int64_t i = 0; i < documents.n; ++i) squares += this->squared(documents, i);
    return (1 - 1e-12) * squares;
  }

  // The score of both sides of a split while documents go left one by one.
  class Walk {
   public:
    Walk(const SquaredError&, const double* total) : n_right_(total[0]), total_(total[1]) {}
    void move(double target) {
      left_ += target;
      ++n_left_;
      --n_right_;
    }
    double score() const {
      const double right = total_ - left_;
      return left_ * left_ / n_left_ + right * right / n_right_;
    }

   private:
    double n_left_ = 0, n_right_, left_ = 0, total_;
  };
};

}  // namespace rankgrove::forests
