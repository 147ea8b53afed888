// Information gain: the fall of the label entropy, in bits (Ibrahim and Carman, algorithm 3).
//
// score(cell) = -n * entropy(cell) = sum of n_c log2 n_c - n log2 n, so that a split gains
// (score(left) + score(right) - score(node)) / n.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "forests/criteria/families.hpp"

namespace rankgrove::forests {

inline double x_log2_x(double x) { return x > 0 ? x * std::log2(x) : 0.0; }

template <typename Sums>
struct Entropy : Sums {
  Entropy(const ForestTargets& targets, const CriterionTable& table)
      : Sums(targets), log_table(table.data()) {}

  double score(const typename Sums::Cell* cell) const {
    double sum = 0;
    if constexpr (std::is_integral_v<typename Sums::Cell>) {
      uint32_t n = 0;
      for (int32_t c = 0; c < this->n_classes(); ++c) {
        const uint32_t count = this->count(cell, c);
        sum += log_table[count];
        n += count;
      }
      return sum - log_table[n];
    } else {
      for (int32_t c = 0; c < this->n_classes(); ++c) sum += x_log2_x(this->count(cell, c));
      return sum - x_log2_x(this->weight(cell));
    }
  }

  // An upper bound of the scores of splits of these documents, except for rounding.
  double perfect_score(const NodeRows&, const typename Sums::Cell* total) const {
    return -1e-12 * this->weight(total);
  }

  const double* log_table;
};

struct EntropyCriterion : OfClasses<Entropy> {
  static constexpr std::string_view name = "entropy";

  // n log2 n for all counts that a node can have.
  static CriterionTable table(const ForestTargets& targets, int64_t largest_node) {
    if (!targets.weight.empty()) return {};
    CriterionTable table(static_cast<size_t>(largest_node) + 1);
    for (int64_t n = 0; n <= largest_node; ++n) table[n] = x_log2_x(static_cast<double>(n));
    return table;
  }
};

}  // namespace rankgrove::forests
