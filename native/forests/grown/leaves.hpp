// The leaf of each tree that a document reaches.
#pragma once

#include <cstdint>
#include <vector>

#include "scoring/ensemble.hpp"

namespace rankgrove::forests {

// A float32 matrix in the caller's memory. Strides are in elements.
struct MatrixView {
  const float* data;
  int64_t n_rows;
  int32_t n_features;
  int64_t row_stride;
  int64_t column_stride;
};

// leaves[row * n_trees + tree] = number of the leaf within its tree. `fill` stands in for NaN.
void find_leaves(const MatrixView& x, const std::vector<float>& fill, const EnsembleArrays& trees,
                 int32_t* leaves, int n_threads);

}  // namespace rankgrove::forests
