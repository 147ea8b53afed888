// How good a tree's ranking was after each of its splits (Ibrahim and Carman, section 6.3).
#pragma once

#include <cstdint>
#include <vector>

#include "forests/data/forest_targets.hpp"
#include "forests/grown/leaves.hpp"

namespace rankgrove::forests {

// Mean of the metric over all queries before the first split, and after each split in the order in
// which the tree grew. `value` holds the scores of the nodes of tree number `tree`, and leaves[row
// * n_trees + tree] the leaf of each row.
std::vector<double> strength_curve(const TreeArrays& trees, const double* value, int64_t tree,
                                   const int32_t* leaves, const std::vector<int64_t>& offsets,
                                   const std::vector<int32_t>& query_of_row,
                                   const PositionMetric& metric);

}  // namespace rankgrove::forests
