// Sums over a set of documents, from which criteria compute scores:
//
//   ClassCounts<C>   number of documents of each class (C classes, or 0: as many as the data have)
//   ClassWeights     weight of each class, and the number of documents
//   CountAndSum      number of documents, and sum of targets
//   Moments          weight, weighted sum of targets, and the number of documents
//
// A *cell* is `stride()` consecutive numbers: the sums over some set of documents. An *item* is the
// contribution of one document. `add_all` adds all documents of a node, `add_left` those that a
// split sends left; items() returns the items of the node's documents.
#pragma once

#include <cstdint>

#include "forests/criteria/count_classes.hpp"
#include "forests/data/forest_targets.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

template <int C>
struct ClassCounts {
  static constexpr bool kOfClassCounts = true;  // which determine the sums
  using Cell = uint32_t;
  using Item = uint8_t;

  explicit ClassCounts(const ForestTargets& targets) : n(targets.n_classes()) {}

  int32_t n_classes() const { return C > 0 ? C : n; }
  int32_t stride() const { return n_classes(); }
  Item item(const NodeRows& documents, int64_t i) const { return documents.labels[i]; }
  void add(Cell* cell, Item item) const { ++cell[item]; }
  static uint32_t count(const Cell* cell, int32_t c) { return cell[c]; }
  template <typename Items>
  void add_all(const NodeRows& documents, Items&&, Cell* cell) const {
    for (int32_t c = 0; c < n_classes(); ++c) cell[c] += documents.class_counts[c];
  }
  template <typename Code, typename Items>
  void add_left(const NodeRows& documents, Items&& items, const Code* codes, const NodeSplit& split,
                int32_t missing_bin, Cell* cell) const {
    if (sizeof(Code) == 1 && n_classes() <= kFewClasses && !split.missing_left) {
      count_left_classes(reinterpret_cast<const uint8_t*>(codes), documents.labels, documents.n,
                         split.bin, n_classes(), cell);
      return;
    }
    const Item* item = items();
    for (int64_t i = 0; i < documents.n; ++i) {
      cell[item[i]] += split.goes_left(codes[i], missing_bin);
    }
  }
  int64_t n_docs(const Cell* cell) const {
    int64_t sum = 0;
    for (int32_t c = 0; c < n_classes(); ++c) sum += cell[c];
    return sum;
  }
  double weight(const Cell* cell) const { return static_cast<double>(n_docs(cell)); }

  int32_t n;
};

// Sums that add documents one by one.
template <typename Sums>
struct OneByOne {
  static constexpr bool kOfClassCounts = false;
  template <typename Items, typename Cell>
  void add_all(const NodeRows& documents, Items&& items, Cell* cell) const {
    const auto* item = items();
    for (int64_t i = 0; i < documents.n; ++i) sums().add(cell, item[i]);
  }
  template <typename Code, typename Items, typename Cell>
  void add_left(const NodeRows& documents, Items&& items, const Code* codes, const NodeSplit& split,
                int32_t missing_bin, Cell* cell) const {
    const auto* item = items();
    for (int64_t i = 0; i < documents.n; ++i) {
      if (split.goes_left(codes[i], missing_bin)) sums().add(cell, item[i]);
    }
  }

 private:
  const Sums& sums() const { return static_cast<const Sums&>(*this); }
};

struct ClassWeights : OneByOne<ClassWeights> {
  using Cell = double;
  struct Item {
    double weight;
    uint8_t label;
  };

  explicit ClassWeights(const ForestTargets& targets)
      : row_weight(targets.weight.data()), n(targets.n_classes()) {}

  int32_t n_classes() const { return n; }
  int32_t stride() const { return n + 1; }
  Item item(const NodeRows& documents, int64_t i) const {
    return {row_weight[documents.rows[i]], documents.labels[i]};
  }
  void add(Cell* cell, const Item& item) const {
    cell[item.label] += item.weight;
    cell[n] += 1;
  }
  static double count(const Cell* cell, int32_t c) { return cell[c]; }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(cell[n]); }
  double weight(const Cell* cell) const {
    double sum = 0;
    for (int32_t c = 0; c < n; ++c) sum += cell[c];
    return sum;
  }

  const double* row_weight;
  int32_t n;
};

struct CountAndSum : OneByOne<CountAndSum> {
  using Cell = double;
  using Item = double;

  explicit CountAndSum(const ForestTargets& all) : targets(all), n_classes(all.n_classes()) {}

  static constexpr int32_t stride() { return 2; }
  Item item(const NodeRows& documents, int64_t i) const {
    return targets.target_grid.rounded(documents.labels ? targets.class_value[documents.labels[i]]
                                                        : targets.target[documents.rows[i]]);
  }
  double squares(const NodeRows& documents) const {
    double sum = 0;
    for (int64_t i = 0; i < documents.n; ++i) {
      const double value = targets.target[documents.rows[i]];
      sum += targets.square_grid.rounded(value * value);
    }
    return sum;
  }
  void add(Cell* cell, Item item) const {
    cell[0] += 1;
    cell[1] += item;
  }
  template <typename Code, typename Items>
  void add_left(const NodeRows& documents, Items&& items, const Code* codes, const NodeSplit& split,
                int32_t missing_bin, Cell* cell) const {
    if (sizeof(Code) == 1 && documents.labels && n_classes <= kFewClasses && !split.missing_left) {
      uint32_t counts[kFewClasses] = {};
      count_left_classes(reinterpret_cast<const uint8_t*>(codes), documents.labels, documents.n,
                         split.bin, n_classes, counts);
      for (int32_t c = 0; c < n_classes; ++c) {
        cell[0] += counts[c];
        cell[1] += counts[c] * targets.target_grid.rounded(targets.class_value[c]);
      }
      return;
    }
    const Item* item = items();
    for (int64_t i = 0; i < documents.n; ++i) {
      const bool left = split.goes_left(codes[i], missing_bin);
      cell[0] += left;
      cell[1] += left ? item[i] : 0.0;
    }
  }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(cell[0]); }
  double weight(const Cell* cell) const { return cell[0]; }
  double sum(const Cell* cell) const { return cell[1]; }

  const ForestTargets& targets;
  int32_t n_classes;
};

struct Moments : OneByOne<Moments> {
  using Cell = double;
  struct Item {
    double weight;
    double product;
  };

  explicit Moments(const ForestTargets& all) : targets(all) {}

  int32_t stride() const { return 3; }
  Item item(const NodeRows& documents, int64_t i) const {
    const int32_t row = documents.rows[i];
    const double w = targets.weight.empty() ? 1.0 : targets.weight[row];
    return {w, targets.target_grid.rounded(w * targets.target[row])};
  }
  double squares(const NodeRows& documents) const {
    double sum = 0;
    for (int64_t i = 0; i < documents.n; ++i) {
      const int32_t row = documents.rows[i];
      const double target = targets.target[row];
      sum += targets.square_grid.rounded(targets.weight[row] * target * target);
    }
    return sum;
  }
  void add(Cell* cell, const Item& item) const {
    cell[0] += item.weight;
    cell[1] += item.product;
    cell[2] += 1;
  }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(cell[2]); }
  double weight(const Cell* cell) const { return cell[0]; }
  double sum(const Cell* cell) const { return cell[1]; }

  const ForestTargets& targets;
};

}  // namespace rankgrove::forests
