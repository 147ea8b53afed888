// Which leaf of each tree a document falls into.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

// Trees laid end to end, as in TreeEnsemble; well-formed.
struct TreeArrays {
  const int64_t* offsets;
  int64_t n_trees;
  const int32_t* feature;
  const float* threshold;
  const int32_t* left;
  const uint8_t* missing_left;
};

// leaves[row * n_trees + tree] = number of the leaf within its tree. `fill` stands in for NaN.
void find_leaves(const MatrixView& x, const std::vector<float>& fill, const TreeArrays& trees,
                 int32_t* leaves, int n_threads);

}  // namespace rankgrove::forests
