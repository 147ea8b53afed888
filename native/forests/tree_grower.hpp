// Grows one tree: pops leaves, splits them, sorts their rows into the children.
//
// Random numbers of a node follow from its path from the root alone, so that a pointwise tree is
// the same in every node order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "forests/forest_data.hpp"
#include "forests/growing_tree.hpp"
#include "forests/options.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

// Called once per node; throws to stop the growth.
using Heartbeat = std::function<void()>;

// Grows a tree on `rows` (ascending; repeated rows count repeatedly). `log_table` holds n log2 n up
// to the number of rows. `scratch` is where the tree grows; it may be used again for the next one.
Tree grow_tree(const ForestData& data, const GrowOptions& options, std::vector<int32_t> rows,
               uint64_t seed, const std::vector<double>& log_table, const Heartbeat& heartbeat,
               GrowingTree& scratch);

}  // namespace rankgrove::forests
