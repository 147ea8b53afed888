// Out-of-bag predictions: outputs of trees for the rows outside of their samples.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forests/data/forest_features.hpp"
#include "forests/data/forest_sample.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

// Adds to each row the values of the trees whose sample did not hold it, tree by tree, and counts
// these trees. trees[i] has the number first_tree + i; it may be null. If it is stopped, the trees
// that are not in the sums are dropped.
void add_out_of_bag(const ForestFeatures& features, std::vector<std::shared_ptr<Tree>>& trees,
                    const ForestSample& sample, uint64_t seed, int64_t first_tree, double* sums,
                    int32_t* counts, int n_threads);

}  // namespace rankgrove::forests
