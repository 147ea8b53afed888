// Information gain: the fall of the label entropy, in bits (Ibrahim and Carman, algorithm 3).
//
// score(cell) = -n * entropy(cell) = sum of n_c log2 n_c - n log2 n, so that a split gains
// (score(left) + score(right) - score(node)) / n.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "forests/criteria/class_counts.hpp"

namespace rankgrove::forests {

inline double x_log2_x(double x) { return x > 0 ? x * std::log2(x) : 0.0; }

// Values of n log2 n for all counts that a forest can meet.
inline std::vector<double> x_log2_x_table(int64_t largest) {
  std::vector<double> table(static_cast<size_t>(largest) + 1);
  for (int64_t n = 0; n <= largest; ++n) table[n] = x_log2_x(static_cast<double>(n));
  return table;
}

template <typename Sums>
struct Entropy : Sums {
  Entropy(const ForestData& data, const std::vector<double>& table)
      : Sums(data), log_table(table.data()) {}

  double score(const typename Sums::Cell* cell) const {
    double sum = 0;
    if constexpr (std::is_same_v<typename Sums::Cell, uint32_t>) {
      uint32_t n = 0;
      for (int32_t c = 0; c < this->n_classes(); ++c) {
        sum += log_table[cell[c]];
        n += cell[c];
      }
      return sum - log_table[n];
    } else {
      for (int32_t c = 0; c < this->n_classes(); ++c) sum += x_log2_x(cell[c]);
      return sum - x_log2_x(this->weight(cell));
    }
  }

  // What no split of these documents can score more than, but for rounding.
  double perfect_score(const NodeRows&, const typename Sums::Cell* total) const {
    return -1e-12 * this->weight(total);
  }

  // The score of both sides of a split while documents go left one by one.
  class Walk {
   public:
    Walk(const Entropy& criterion, const uint32_t* total) : table_(criterion.log_table) {
      for (int32_t c = 0; c < criterion.n_classes(); ++c) {
        left_[c] = 0;
        right_[c] = total[c];
        n_right_ += total[c];
        sum_ += table_[total[c]];
      }
    }
    void move(uint8_t label) {
      const uint32_t l = left_[label]++;
      const uint32_t r = right_[label]--;
      sum_ += (table_[l + 1] - table_[l]) - (table_[r] - table_[r - 1]);
      ++n_left_;
      --n_right_;
    }
    double score() const { return sum_ - table_[n_left_] - table_[n_right_]; }

   private:
    const double* table_;
    double sum_ = 0.0;
    uint32_t n_left_ = 0, n_right_ = 0;
    uint32_t left_[kFewClasses], right_[kFewClasses];
  };

  const double* log_table;
};

}  // namespace rankgrove::forests
