// How a forest's trees are grown.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "forests/criteria/custom.hpp"

namespace rankgrove::forests {

// How thresholds are chosen at a node.
enum class Splitter {
  kBest,             // K features, all thresholds, the best of all (random forests)
  kRandomThreshold,  // K features, one random threshold each, the best of these (ExtraTrees)
  kRandom,           // one feature, one threshold, both random (RF-rand)
};

// Which leaf is split next. It matters where a split's gain depends on the other leaves (listwise
// splits) or where max_leaf_nodes ends the growth; else it only numbers the nodes.
enum class NodeOrder {
  kBreadthFirst,
  kDepthFirst,
  kRandom,
  kBiggestFirst,
  kMostRelevantFirst,
  kBestFirst,  // the leaf whose split gained most when the leaf was made
};

inline constexpr int32_t kUnlimited = std::numeric_limits<int32_t>::max();

struct ForestOptions {
  Splitter splitter = Splitter::kBest;
  std::string criterion = "squared_error";  // of pointwise splits; see criteria/registry.hpp
  CustomCriterion custom;                   // in its place; empty for none
  NodeOrder order = NodeOrder::kBreadthFirst;
  int32_t max_features = 1;  // features drawn per node
  bool redraw = true;        // whether a node whose drawn features are all constant draws more
  // Levels of the tree that are split listwise, from the root; kUnlimited: the whole tree, and no
  // split is pointwise.
  int32_t listwise_levels = 0;
  bool fallback = true;  // a node of these levels without a listwise gain is split pointwise
  int64_t min_samples_split = 2;
  int64_t min_samples_leaf = 1;
  int32_t max_depth = kUnlimited;
  int32_t max_leaf_nodes = kUnlimited;
  bool missing_branch = false;    // missing values are a child of their own
  double min_gain = 0.0;          // a split must gain more than this
  double threshold_fraction = 1;  // of the thresholds of a feature that a node tries
  double query_fraction = 1;      // of the queries of a node whose metric a listwise split looks at
};

// Whether nodes are made in the order in which they are numbered. (A pointwise tree does not depend
// on the order of its splits, unless the number of its leaves is limited. The three children of a
// best split are numbered together.)
inline bool splits_as_ordered(const ForestOptions& options) {
  return options.max_leaf_nodes != kUnlimited || options.order == NodeOrder::kDepthFirst ||
         (options.order == NodeOrder::kBestFirst && options.missing_branch);
}

// Gains below this are rounding noise of a sum whose true value is 0.
inline constexpr double kGainNoise = 1e-12;

}  // namespace rankgrove::forests
