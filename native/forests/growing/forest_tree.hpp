// Grows one tree: pops leaves, splits them, sorts their rows into the children.
//
// Random numbers of a node follow from its path from the root alone, so that a pointwise tree is
// the same in every node order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/random.hpp"
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

// A node of a tree most of which is grown elsewhere.
struct SubTreeRoot {
  int32_t depth;
  uint64_t key;
  int64_t tree_documents;  // of the sample of the whole tree, and their weight
  double tree_weight;
};

// Grows the part of a tree below a node with these rows, whatever the rest is; leaves it in `tree`,
// and the gains of its splits by node in `gains`.
void grow_sub_tree(const ForestData& data, const ForestOptions& options, NodeOrder order,
                   SampledRows drawn, const SubTreeRoot& place, const CriterionTable& table,
                   const Heartbeat& heartbeat, GrowingTree& tree, std::vector<double>& gains);

// The random stream of the order in which the nodes of a tree are split, by the tree's seed.
inline uint64_t order_seed(uint64_t seed) { return mix64(seed + 2); }

}  // namespace rankgrove::forests
