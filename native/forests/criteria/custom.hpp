// A user's own criterion: slow, but any function of the sums over the children's documents.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "forests/criteria/class_counts.hpp"
#include "forests/data/forest_targets.hpp"

namespace rankgrove::forests {

struct CustomCriterion {
  std::string name;  // for messages
  bool needs_classes = false;
  // Gains of n candidate splits of a node: how much less impure its children are, per document (or
  // unit of weight). The sums of a child are `n_sums` numbers in a row: weight, sum of targets, sum
  // of squared targets, and the weight of each class, if there are classes.
  std::function<void(const std::vector<double>& left, const std::vector<double>& right, int64_t n,
                     int32_t n_sums, std::vector<double>& gain)>
      evaluate;

  explicit operator bool() const { return static_cast<bool>(evaluate); }
};

// All sums that a user may ask for, and behind them the number of documents.
struct AllSums : OneByOne<AllSums> {
  using Cell = double;
  struct Item {
    double weight;
    double target;
    int32_t label;  // -1 if there are no classes
  };

  explicit AllSums(const ForestTargets& all) : targets(all) {}

  int32_t n_sums() const { return 3 + targets.n_classes(); }
  int32_t stride() const { return n_sums() + 1; }
  Item item(const NodeRows& documents, int64_t i) const {
    const int32_t row = documents.rows[i];
    return {targets.weight.empty() ? 1.0 : targets.weight[row], targets.target[row],
            documents.labels ? documents.labels[i] : -1};
  }
  void add(Cell* cell, const Item& item) const {
    cell[0] += item.weight;
    cell[1] += item.weight * item.target;
    cell[2] += item.weight * item.target * item.target;
    if (item.label >= 0) cell[3 + item.label] += item.weight;
    cell[n_sums()] += 1;
  }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(cell[n_sums()]); }

  const ForestTargets& targets;
};

}  // namespace rankgrove::forests
