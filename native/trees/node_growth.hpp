// Growth node by node: leaf-wise or level-wise.
//
// Each step takes the next node out of a queue, partitions its rows by its split, computes the
// histograms of the children (the smaller child's is built, the larger child's is the parent's
// minus it), and searches their splits. Leaf-wise and level-wise growth differ only in the order of
// the queue.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trees/growth_state.hpp"
#include "trees/histogram_pool.hpp"
#include "trees/leaf_sums.hpp"
#include "trees/node_search.hpp"
#include "trees/open_node.hpp"
#include "trees/split_search.hpp"
#include "trees/tree.hpp"

namespace rankgrove {

class NodeGrowth {
 public:
  NodeGrowth(GrowthState& state, HistogramPool& histograms, const SplitSearch& search)
      : state_(state),
        histograms_(histograms),
        search_(search),
        node_search_(state, histograms, search) {}

  // Adds nodes to an empty tree and returns its leaves, in no particular order.
  std::vector<GrownLeaf> grow(Tree& tree);

  // The cost of searching the splits of one node.
  double search_nanoseconds() const { return node_search_.nanoseconds(); }

 private:
  struct Partition;  // of the rows of a node

  bool may_split(int32_t depth, int64_t n_rows) const;
  OpenNode make_root(Tree& tree);
  void start_noise(OpenNode& node) const;
  Partition partition_rows(const OpenNode& parent, bool last_leaf);
  bool has_enough_rows(const OpenNode& parent, const Partition& partition) const;
  void search_again(OpenNode& parent, const Partition& partition);
  void drop_small_histogram(OpenNode& node);
  std::pair<OpenNode, OpenNode> make_children(Tree& tree, const OpenNode& parent,
                                              const Partition& partition) const;
  Split part_missing(OpenNode& node) const;
  std::pair<OpenNode, OpenNode> split_rows(Tree& tree, const OpenNode& parent, Partition& partition,
                                           bool left_decided);
  void bound_children(const OpenNode& parent, NodeSums& left, NodeSums& right) const;
  PendingSubtraction assign_histograms(const OpenNode& parent, Partition& partition, OpenNode& left,
                                       OpenNode& right);

  GrowthState& state_;
  HistogramPool& histograms_;
  const SplitSearch& search_;
  NodeSearch node_search_;
};

}  // namespace rankgrove
