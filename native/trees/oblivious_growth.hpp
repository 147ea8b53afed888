// Oblivious growth: one rule per level, the one that gains most in all nodes of the level together.
//
// Nodes are numbered breadth-first, so that the whole tree is a table of 2^depth leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/growth_state.hpp"
#include "trees/histogram_pool.hpp"
#include "trees/leaf_sums.hpp"
#include "trees/split_offers.hpp"
#include "trees/split_search.hpp"
#include "trees/tree.hpp"

namespace rankgrove {

class ObliviousGrowth {
 public:
  ObliviousGrowth(GrowthState& state, HistogramPool& histograms, const SplitSearch& search)
      : state_(state), histograms_(histograms), search_(search) {}

  // Adds nodes to an empty tree and returns its leaves, in order.
  std::vector<GrownLeaf> grow(Tree& tree);

 private:
  struct LevelNode;

  LevelNode make_root();
  Split best_rule(const std::vector<LevelNode>& level, int32_t depth) const;
  Split best_of_feature(const std::vector<LevelNode>& level, int32_t depth, int32_t feature) const;
  Split best_of_categories(const std::vector<LevelNode>& level, int32_t depth,
                           int32_t feature) const;
  // Candidates of a feature, by the number of the first and the way of missing values.
  struct LevelCandidates {
    int32_t feature;
    int64_t first;
    bool missing_left;
  };
  void choose(const std::vector<double>& scores, double unsplit, int32_t depth,
              const LevelCandidates& candidates, Split& best) const;
  double preference(const std::vector<LevelNode>& level, int32_t depth, const Split& split) const;
  bool counts_rows() const;
  NodeBins node_bins(const LevelNode& node, int32_t feature) const;
  std::vector<GradientSums> left_totals(const std::vector<LevelNode>& level, CodeRule& rule) const;
  bool unseen_go_left(const std::vector<LevelNode>& level, const CodeRule& rule) const;
  void split_node(const LevelNode& parent, const CodeRule& rule, const GradientSums& left_total,
                  bool last, std::vector<LevelNode>& next);

  GrowthState& state_;
  HistogramPool& histograms_;
  const SplitSearch& search_;
};

}  // namespace rankgrove
