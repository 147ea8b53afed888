// Grows regression trees on gradients.
//
// Life of a grower: built once per fit on a binned matrix; then, for each tree, grow() is called
// with that iteration's gradients, and leaf_of_row() tells the leaf of every row of the matrix
// until the next call. All working memory is kept from tree to tree.
//
// Several workers, each with its rows, grow the same tree together: sums of histograms, numbers of
// rows and leaves are exchanged, and as all of them are integers, every worker decides the same,
// and what one worker with all rows would.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "trees/binned_matrix.hpp"
#include "trees/packed_gradients.hpp"
#include "trees/row_partition.hpp"
#include "trees/row_store.hpp"
#include "trees/split_search.hpp"
#include "trees/tree.hpp"

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
  SplitRules rules;
};

class TreeGrower {
 public:
  // `share` tells which rows of all workers the matrix holds.
  TreeGrower(std::shared_ptr<const BinnedMatrix> binned, GrowOptions options, RowShare share,
             int n_threads);
  TreeGrower(const TreeGrower&) = delete;
  TreeGrower& operator=(const TreeGrower&) = delete;

  // Grows one tree on the given rows, ascending (all rows if null). A null `hessians` means 1 for
  // every row. Arrays have one entry per row of the matrix.
  Tree grow(const float* gradients, const float* hessians, const int32_t* rows, int64_t n_rows,
            uint64_t seed);

  const std::vector<int32_t>& leaf_of_row() const { return leaf_of_row_; }
  const BinnedMatrix& binned() const { return *binned_; }

 private:
  struct OpenNode;   // of growth node by node
  struct LevelNode;  // of oblivious growth
  struct Parting;    // of the rows of a node
  // The histogram of rows begin..end, which is not built yet; null if none waits.
  struct Unbuilt {
    int64_t begin = 0, end = 0;
    int64_t* histogram = nullptr;
  };
  // A histogram that becomes what is left of it without another one; null if none does.
  struct Remainder {
    int64_t* whole = nullptr;
    const int64_t* part = nullptr;
  };
  struct NodeSearch {
    OpenNode* node;
    std::vector<uint8_t> drawn;     // by feature
    std::vector<Split> by_feature;  // none where a feature was not drawn, or cannot be best
    double known_gain;              // of the best split that a thread has found
  };
  struct Leaf {
    int32_t node;
    int64_t begin, end;
    double lower, upper;
  };

  void grow_node_by_node(Tree& tree, uint64_t seed);
  void grow_oblivious(Tree& tree, uint64_t seed);
  Split best_rule(const std::vector<LevelNode>& level, uint64_t seed, int32_t depth);
  bool unseen_go_left(const std::vector<LevelNode>& level, const Split& rule) const;
  bool may_split(int32_t depth, int64_t n_rows) const;
  OpenNode make_root(Tree& tree);
  Parting part(const OpenNode& parent, bool last_leaf);
  std::pair<OpenNode, OpenNode> make_children(Tree& tree, const OpenNode& parent,
                                              const Parting& parting) const;
  Remainder share_histogram(const OpenNode& parent, const Parting& parting, OpenNode& left,
                            OpenNode& right);
  void find_splits(std::initializer_list<OpenNode*> nodes, const Unbuilt& unbuilt,
                   const Remainder& remainder, uint64_t seed);
  void choose_split(OpenNode& node, std::vector<Split>& by_feature);
  bool has_missing(const OpenNode& node, int32_t feature) const;
  Split best_with_enough_rows(const OpenNode& node, std::vector<Split>& by_feature);
  void count_all_rows(const OpenNode& node, std::vector<Split>& by_feature);
  std::vector<int32_t> draw_features(const std::vector<int32_t>& pool, double share, uint64_t seed,
                                     uint64_t stream) const;
  double tree_nanoseconds(int64_t n_rows) const;
  double mean_bins() const;  // of a feature
  int64_t* new_histogram();
  void build_histogram(int64_t begin, int64_t end, int64_t* histogram);  // of this worker's rows
  // The same feature by feature, with visit(feature) after each, which costs `nanoseconds`.
  template <typename Visit>
  void build_by_groups(const Unbuilt& unbuilt, int n_threads, double nanoseconds, Visit&& visit);
  int64_t histogram_total(const int64_t* histogram) const;
  // The value that a bin's values do not exceed; +inf for the last, which parts all values, also
  // those beyond what was seen in training, from missing ones.
  float threshold(int32_t feature, int32_t bin) const;
  void fill_leaves(Tree& tree, const float* gradients, const float* hessians);

  std::shared_ptr<const BinnedMatrix> binned_;
  GrowOptions options_;
  RowShare share_;
  int n_threads_;
  HistogramLayout layout_;
  RowStore store_;
  SplitSearch search_;
  RowPartition partition_;
  PackedGradients packed_;
  bool samples_all_rows_ = true;
  std::vector<int32_t> tree_features_;
  // All histograms that were ever made, with room for a number of rows behind the bins.
  std::vector<std::unique_ptr<int64_t[]>> histograms_;
  std::vector<int64_t*> free_histograms_;
  std::vector<std::vector<int64_t>> partial_histograms_;
  std::vector<int64_t> ones_;         // a word of 1 for each row, once rows have to be counted
  std::vector<NodeSearch> searches_;  // of the nodes at hand
  std::vector<Leaf> leaves_;
  std::vector<int32_t> leaf_of_row_;
};

// The leaf that each row of a matrix reaches, for a tree grown on the same bins.
std::vector<int32_t> apply_tree(const Tree& tree, const BinnedMatrix& binned, int n_threads);

}  // namespace rankgrove
