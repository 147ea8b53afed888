// Grows the trees of a forest whose rows are distributed over workers; the trees are bit-identical
// to those of one worker.
//
// Every worker has a ShardedForest with its own rows. All go through the same rounds, and between
// the method calls the caller exchanges their results: all-reduce of sums and maxima of integers,
// and all-gather of messages. All trees grow at the same time.
//
//   do {
//     open(sums of summaries().first, maxima of summaries().second)
//     plan()
//     if searches()  split(messages of search(sums of histograms()))
//     if moves()     graft(messages of grow(messages from pack()))
//   } while plan() found something
//
// Nodes with many rows are split from summed histograms; each worker searches some of the nodes.
// Nodes with few rows are sent to one worker, which grows their subtrees alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forests/criteria/families.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/data/forest_sample.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/sharded/histogram_search.hpp"
#include "forests/sharded/node_histograms.hpp"
#include "forests/sharded/node_sums.hpp"
#include "forests/sharded/node_table.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

// The rank of this worker, and limits of the work that it does at once.
struct ShardedGrowth {
  int rank = 0;
  int size = 1;
  int64_t largest_sample = 0;    // documents of a tree at most, of all workers
  int64_t most_moved_rows = 0;   // a node with more is not moved; at least kFewestMovedRows
  int64_t most_cells = 1 << 23;  // of histograms at a time
  int64_t most_moved_bytes = int64_t{1} << 26;  // that a worker receives at a time, or one node
  int n_threads = 1;
};

// Smaller nodes draw their features and thresholds in another order.
inline constexpr int64_t kFewestMovedRows = 16;

class ShardedForest {
 public:
  // Draws the samples of trees first_tree .. first_tree + n_trees - 1.
  ShardedForest(const ForestData& data, const ForestOptions& options, const ForestSample& sample,
                uint64_t seed, int64_t first_tree, int64_t n_trees, const ShardedGrowth& growth);

  // This worker's part of the sums and maxima of new nodes.
  std::pair<std::vector<int64_t>, std::vector<int64_t>> summaries() const;
  void open(const int64_t* sums, size_t n_sums, const int64_t* maxima, size_t n_maxima);

  // Chooses the nodes of the next round; false if all trees are grown.
  bool plan();
  bool searches() const { return !searched_.empty(); }
  bool moves() const { return !moved_.empty(); }

  // This worker's part of the histograms; those of worker r end at bounds()[r + 1].
  std::vector<int64_t> histograms() const;
  const std::vector<int64_t>& bounds() const { return bounds_; }
  // The splits of this worker's nodes, given the sums of all histograms of bounds().
  std::string search(const int64_t* histograms, size_t n) const;
  void split(const std::vector<std::string_view>& messages);

  // Rows for each worker; the sub-trees that this worker has made of those it got.
  std::vector<std::string> pack() const;
  std::string grow(const std::vector<std::string_view>& messages) const;
  void graft(const std::vector<std::string_view>& messages);

  // The trees, when nothing is left to do.
  std::vector<Tree> trees() const;

 private:
  struct ShardTree {
    uint64_t seed = 0;
    ShardRows rows;
    NodeTable table;
    std::map<int32_t, OpenNode> open;  // nodes that are not known yet, by their place
    NodeSummary root;
    bool complete = false;
  };
  struct Place {
    int32_t tree;
    int32_t node;
  };
  // Children of a split, or a root, whose sums are not known yet.
  struct NewNodes {
    int32_t tree = 0;
    OpenNode parent;  // of a root: the root itself
    bool is_root = false;
    SharedSplit found;
    std::vector<std::pair<int64_t, int64_t>> ranges;  // of rows: left, right, missing
  };
  struct Search {
    Place place;
    std::vector<int32_t> drawn;
    int64_t begin = 0;  // of its cells
    int owner = 0;
  };
  struct Move {
    Place place;
    int owner = 0;
  };

  void require_possible(const NodeSummary& node, const std::pair<int64_t, int64_t>& own_rows) const;
  void open_root(const NewNodes& made, const NodeSummary& summary);
  void open_children(const NewNodes& made, const std::vector<NodeSummary>& summaries,
                     const NodeSummary& values);
  int32_t add_node(ShardTree& tree, const NodeSummary& summary);
  void wait(ShardTree& tree, const OpenNode& node);
  bool may_split(const OpenNode& node) const;
  std::vector<int32_t> wanted_nodes(ShardTree& tree) const;
  void plan_searches(const std::vector<Place>& wanted);
  void plan_moves(const std::vector<Place>& wanted);
  void set_owners();
  NewNodes part(const Place& place, SharedSplit found);
  const OpenNode& node_at(const Place& place) const {
    return trees_[place.tree].open.at(place.node);
  }

  const ForestData data_;
  const ForestOptions options_;
  const ShardedGrowth growth_;
  bool distinct_;
  NodeSums sums_;
  HistogramLayout layout_;
  CriterionTable table_;  // for moved nodes
  std::vector<ShardTree> trees_;
  std::vector<NewNodes> new_;
  std::vector<Search> searched_;
  std::vector<Move> moved_;
  std::vector<int64_t> bounds_;
  int64_t n_cells_ = 0;
};

}  // namespace rankgrove::forests
