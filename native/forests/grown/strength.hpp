// The metric of a single tree's ranking after each of its splits (Ibrahim and Carman, section 6.3).
#pragma once

#include <cstdint>
#include <vector>

#include "forests/data/forest_targets.hpp"
#include "scoring/ensemble.hpp"

namespace rankgrove::forests {

// Mean of the metric over all queries before the first split, and after each split in the order in
// which the tree grew. leaves[row * n_trees + tree] holds the leaf of each row.
std::vector<double> strength_curve(const EnsembleArrays& trees, int64_t tree, const int32_t* leaves,
                                   const std::vector<int64_t>& offsets,
                                   const std::vector<int32_t>& query_of_row,
                                   const ListwiseMetric& metric);

}  // namespace rankgrove::forests
