// The cells of histograms that are summed over all workers: for each code of a feature in a node,
// sums over the documents with this code, as integers.
#pragma once

#include <cstdint>

#include "forests/data/forest_features.hpp"
#include "forests/data/forest_targets.hpp"
#include "forests/growing/forest_options.hpp"

namespace rankgrove::forests {

struct HistogramLayout {
  // Places in a cell; -1: it does not have them.
  int32_t stride = 0;
  int32_t classes = -1;    // documents, or their weight, by class
  int32_t documents = -1;  // else the sum of the classes
  int32_t target = -1;
  int32_t weight = -1;
  int32_t rows = -1;         // that are listed; else each document is
  int32_t grid_target = -1;  // in units of the grid, where `target` may be in steps of the node
  int32_t n_classes = 0;

  // Behind the cells of a node's features: its squared targets, in parts of 32 bits.
  static constexpr int32_t kSquares = 4;

  HistogramLayout(const ForestTargets& targets, const ForestOptions& options, const Bins& bins,
                  bool distinct_rows) {
    if (options.splitter == Splitter::kRandom) {
      documents = stride++;
      return;
    }
    if (options.criterion != "squared_error") {
      n_classes = targets.n_classes();
      classes = 0;
      stride = n_classes;
      if (targets.weight.empty()) return;
      documents = stride++;
      target = stride++;
      return;
    }
    documents = stride++;
    target = stride++;
    if (!targets.weight.empty()) weight = stride++;
    if (!bins.any_categorical()) return;
    if (distinct_rows) rows = stride++;
    if (targets.weight.empty() && !targets.has_classes()) grid_target = stride++;
  }

  int64_t n_documents(const int64_t* cell) const {
    if (documents >= 0) return cell[documents];
    int64_t sum = 0;
    for (int32_t c = 0; c < n_classes; ++c) sum += cell[classes + c];
    return sum;
  }
  int64_t n_rows(const int64_t* cell) const { return rows >= 0 ? cell[rows] : n_documents(cell); }
};

}  // namespace rankgrove::forests
