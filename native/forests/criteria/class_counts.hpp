// Rows summed by class. Three sums that criteria score:
//
//   ClassCounts<C>   number of documents of each class (C classes, or 0: as many as the data have)
//   ClassWeights     weight of each class, and the number of documents
//   Moments          weight, weighted sum of targets, and the number of documents
//
// A *cell* is `stride()` numbers in a row: the sums over some set of documents.
#pragma once

#include <cstdint>

#include "forests/forest_data.hpp"

namespace rankgrove::forests {

template <int C>
struct ClassCounts {
  using Cell = uint32_t;
  using Item = uint8_t;

  explicit ClassCounts(const ForestData& data) : label(data.label.data()), n(data.n_classes()) {}

  int32_t n_classes() const { return C > 0 ? C : n; }
  int32_t stride() const { return n_classes(); }
  Item item(int32_t row) const { return label[row]; }
  void add(Cell* cell, Item item) const { ++cell[item]; }
  int64_t n_docs(const Cell* cell) const {
    int64_t sum = 0;
    for (int32_t c = 0; c < n_classes(); ++c) sum += cell[c];
    return sum;
  }
  double weight(const Cell* cell) const { return static_cast<double>(n_docs(cell)); }

  const uint8_t* label;
  int32_t n;
};

struct ClassWeights {
  using Cell = double;
  struct Item {
    double weight;
    uint8_t label;
  };

  explicit ClassWeights(const ForestData& data)
      : label(data.label.data()), row_weight(data.weight.data()), n(data.n_classes()) {}

  int32_t n_classes() const { return n; }
  int32_t stride() const { return n + 1; }
  Item item(int32_t row) const { return {row_weight[row], label[row]}; }
  void add(Cell* cell, const Item& item) const {
    cell[item.label] += item.weight;
    cell[n] += 1;
  }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(cell[n]); }
  double weight(const Cell* cell) const {
    double sum = 0;
    for (int32_t c = 0; c < n; ++c) sum += cell[c];
    return sum;
  }

  const uint8_t* label;
  const double* row_weight;
  int32_t n;
};

struct Moments {
  using Cell = double;
  struct Item {
    double weight;
    double product;
  };

  explicit Moments(const ForestData& data)
      : target(data.target.data()),
        row_weight(data.weight.empty() ? nullptr : data.weight.data()) {}

  int32_t stride() const { return 3; }
  Item item(int32_t row) const {
    const double w = row_weight ? row_weight[row] : 1.0;
    return {w, w * target[row]};
  }
  void add(Cell* cell, const Item& item) const {
    cell[0] += item.weight;
    cell[1] += item.product;
    cell[2] += 1;
  }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(cell[2]); }
  double weight(const Cell* cell) const { return cell[0]; }

  const double* target;
  const double* row_weight;
};

}  // namespace rankgrove::forests
