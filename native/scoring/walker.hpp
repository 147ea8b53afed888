// Scores deep trees by walking many rows through one tree at a time.
//
// Nodes of a tree lie level by level, so that the levels every row passes stay in cache, and a leaf
// is its own child, so that rows of a group can take steps together until the last has arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "scoring/columns.hpp"
#include "scoring/ensemble.hpp"

namespace rankgrove {

class Walker {
 public:
  Walker(const EnsembleArrays& ensemble, const std::vector<int32_t>& trees,
         const MissingPolicy& missing);

  // Adds the trees' values for `n_rows` rows from first_row on: scores[output * stride + i].
  template <typename T>
  void add_scores(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows, double* scores,
                  int32_t stride) const;

 private:
  struct Node {
    float threshold;
    int32_t left;  // counted from the root of the tree
    int32_t column;
  };

  void add_tree(const EnsembleArrays& ensemble, int32_t tree);

  Columns columns_;
  std::vector<int32_t> outputs_;
  std::vector<int64_t> offsets_{0};
  std::vector<Node> nodes_;
  std::vector<double> values_;  // of leaves, already weighted
};

}  // namespace rankgrove
