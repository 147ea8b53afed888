// The leaf of a tree that each row of a binned matrix reaches.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/binned_matrix.hpp"
#include "trees/tree.hpp"

namespace rankgrove {

// The leaf that each row of a matrix reaches, for a tree grown on the same bins.
std::vector<int32_t> apply_tree(const Tree& tree, const BinnedMatrix& binned, int n_threads);

}  // namespace rankgrove
