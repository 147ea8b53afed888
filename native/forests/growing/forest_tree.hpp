// Grows one tree: pops leaves, splits them, sorts their rows into the children.
//
// Random numbers of a node follow from its path from the root alone, so that a pointwise tree is
// the same in every node order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "forests/criteria/families.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/growing/growing_tree.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

// Called once per node; throws to stop the growth.
using Heartbeat = std::function<void()>;

// Grows a tree on `rows` (ascending; repeated rows count repeatedly). `table` is the criterion's.
// `scratch` is where the tree grows; it may be used again for the next one.
Tree grow_tree(const ForestData& data, const ForestOptions& options, std::vector<int32_t> rows,
               uint64_t seed, const CriterionTable& table, const Heartbeat& heartbeat,
               GrowingTree& scratch);

}  // namespace rankgrove::forests
