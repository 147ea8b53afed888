// Which leaf of each tree a document falls into.
#pragma once

#include <cstdint>
#include <vector>

#include "scoring/ensemble.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

// leaves[row * n_trees + tree] = number of the leaf within its tree. `fill` stands in for NaN.
void find_leaves(const MatrixView& x, const std::vector<float>& fill, const EnsembleArrays& trees,
                 int32_t* leaves, int n_threads);

}  // namespace rankgrove::forests
