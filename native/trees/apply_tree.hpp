// The leaf of a tree that each row of a binned matrix reaches.
#pragma once

#include <cstdint>

#include "trees/binned_matrix.hpp"
#include "trees/tree.hpp"

namespace rankgrove {

// Writes the leaf that each of some rows of a matrix reaches (of all rows if `rows` is null), for a
// tree grown on the same bins, to leaf_of_row[row].
void apply_tree(const Tree& tree, const BinnedMatrix& binned, const int32_t* rows, int64_t n_rows,
                int n_threads, int32_t* leaf_of_row);

}  // namespace rankgrove
