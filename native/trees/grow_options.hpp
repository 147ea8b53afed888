// The options of tree growing on gradients.
#pragma once

#include <cstdint>

#include "trees/interactions.hpp"
#include "trees/split_search.hpp"

namespace rankgrove {

enum class Growth {
  kLeafWise,   // the leaf with the greatest gain next
  kLevelWise,  // level by level, within a level in the order of the nodes
  kOblivious,  // one rule per level, for all nodes of the level
};

struct GrowOptions {
  Growth growth = Growth::kLeafWise;
  int32_t max_leaf_nodes = 31;
  int32_t max_depth = 0;  // 0: no limit
  // Choose splits by least squares on the gradients (every row weighs 1, without l2) instead of by
  // Newton gains; leaves answer with the Newton step either way.
  bool least_squares_splits = false;
  double max_features_tree = 1.0;  // share of the features drawn for each tree
  double max_features_node = 1.0;  // share of these drawn for each node (each level, if oblivious)
  InteractionConstraints interactions;
  SplitRules rules;

  // The rules of the search for splits. Least squares are those of the gradients: l1 and l2 belong
  // to Newton steps, and so to leaf values alone.
  SplitRules search_rules() const {
    SplitRules search = rules;
    if (least_squares_splits) search.l1 = search.l2 = 0.0;
    return search;
  }

  // Oblivious trees split every node of a level, also into leaves that are too small: those answer
  // with the value of the nearest node above that is not.
  bool too_small(int64_t n_rows, double hessian) const {
    return n_rows < rules.min_samples_leaf || hessian < rules.min_child_weight;
  }
  bool has_limits() const { return rules.min_samples_leaf > 1 || rules.min_child_weight > 0.0; }
};

}  // namespace rankgrove
