// The fall of the Gini impurity, sum of p_c (1 - p_c).
//
// score(cell) = sum of n_c^2 / n = n * (1 - impurity).
#pragma once

#include <cstdint>
#include <vector>

#include "forests/criteria/class_counts.hpp"

namespace rankgrove::forests {

template <typename Sums>
struct Gini : Sums {
  Gini(const ForestData& data, const std::vector<double>&) : Sums(data) {}

  double score(const typename Sums::Cell* cell) const {
    double squares = 0;
    double n = 0;
    for (int32_t c = 0; c < this->n_classes(); ++c) {
      const double count = cell[c];
      squares += count * count;
      n += count;
    }
    return n > 0 ? squares / n : 0.0;
  }

  // What no split of these documents can score more than, but for rounding.
  double perfect_score(const NodeRows&, const typename Sums::Cell* total) const {
    return (1 - 1e-12) * this->weight(total);
  }

  // The score of both sides of a split while documents go left one by one.
  class Walk {
   public:
    Walk(const Gini& criterion, const uint32_t* total) {
      for (int32_t c = 0; c < criterion.n_classes(); ++c) {
        left_[c] = 0;
        right_[c] = total[c];
        n_right_ += right_[c];
        right_squares_ += right_[c] * right_[c];
      }
    }
    void move(uint8_t label) {
      left_squares_ += 2 * left_[label]++ + 1;
      right_squares_ -= 2 * right_[label]-- - 1;
      ++n_left_;
      --n_right_;
    }
    double score() const { return left_squares_ / n_left_ + right_squares_ / n_right_; }

   private:
    double left_squares_ = 0, right_squares_ = 0, n_left_ = 0, n_right_ = 0;
    double left_[kFewClasses], right_[kFewClasses];
  };
};

}  // namespace rankgrove::forests
