// The values of a grown tree's nodes, from exact sums of gradients and Hessians.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/growth_state.hpp"
#include "trees/tree.hpp"

namespace rankgrove {

// A leaf of a finished tree: its rows in the partition, and the range of its value.
struct GrownLeaf {
  int32_t node;
  int64_t begin, end;
  double lower, upper;
};

// Sets the value (the Newton step, within the range of a leaf) and the number of rows of every
// node, from sums over all workers in 64-bit integers. Nodes of oblivious trees that are too small
// take the value of their parent. Writes the leaf of every row that the tree
// was grown on to `leaf_of_row`. Gradients are those the tree was grown on.
void set_node_values(const GrowthState& state, const std::vector<GrownLeaf>& leaves,
                     const float* gradients, const float* hessians, Tree& tree,
                     int32_t* leaf_of_row);

}  // namespace rankgrove
