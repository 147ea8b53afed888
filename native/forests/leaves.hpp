// Which leaf of each tree a document falls into.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forests/forest_data.hpp"
#include "forests/sampling.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/tree.hpp"

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

// Adds, for each row, the values of the trees whose sample did not hold it, and counts these trees.
// Tree i has the number tree_numbers[i].
void add_out_of_bag(const ForestData& data, const std::vector<std::shared_ptr<Tree>>& trees,
                    const SampleOptions& sample, uint64_t seed,
                    const std::vector<int64_t>& tree_numbers, double* sums, int32_t* counts,
                    int n_threads);

}  // namespace rankgrove::forests
