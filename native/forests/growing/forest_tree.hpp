// Grows one tree: pops leaves, splits them, sorts their rows into the children.
//
// Random numbers of a node follow from its path from the root alone, so that a pointwise tree is
// the same in every node order.
#pragma once

#include <cstdint>
#include <functional>

#include "forests/criteria/families.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/data/forest_sample.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/growing/growing_tree.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

// Called once per node; throws to stop the growth.
using Heartbeat = std::function<void()>;

// Grows a tree on the rows that were drawn. `table` is the criterion's, which must count repeats if
// each of these rows is listed once.
// `scratch` is where the tree grows; it may be used again for the next one.
Tree grow_tree(const ForestData& data, const ForestOptions& options, SampledRows drawn,
               uint64_t seed, const CriterionTable& table, const Heartbeat& heartbeat,
               GrowingTree& scratch);

}  // namespace rankgrove::forests
