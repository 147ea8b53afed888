// The best splits of nodes over all features that they may use.
//
// SplitSearch searches one feature of one histogram. NodeSearch runs it for features, on several
// threads, and chooses the best split. Rough scores of all features come first; only features that
// may have the best split are searched exactly. Two siblings are searched together, and their
// histograms are completed meanwhile, feature by feature, while the bins are in the cache. Nodes of
// few rows have no histogram (see row_codes.hpp). Each of several workers searches its own
// features, and sends the best splits that it has found to the others.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "trees/growth_state.hpp"
#include "trees/histogram_pool.hpp"
#include "trees/open_node.hpp"
#include "trees/row_codes.hpp"
#include "trees/split_offers.hpp"
#include "trees/split_search.hpp"

namespace rankgrove {

// whole -= part, yet to be done; null if there is nothing to do.
struct PendingSubtraction {
  int64_t* whole = nullptr;
  const int64_t* part = nullptr;
};

class NodeSearch {
 public:
  NodeSearch(const GrowthState& state, HistogramPool& histograms, const SplitSearch& search)
      : state_(state),
        histograms_(histograms),
        search_(search),
        codes_(*state.binned, state.layout) {}

  // Whether nodes of this many rows, or fewer, are searched by their rows.
  bool takes_rows(int64_t n_rows) const;

  // Sets node->split for those of the nodes that may be split, after completing histograms. Nothing
  // may be pending if no node has one.
  void find_splits(std::initializer_list<OpenNode*> nodes, std::span<PendingHistogram> pending,
                   const PendingSubtraction& subtraction);

  // The cost of searching one histogram.
  double nanoseconds() const;

 private:
  struct Candidates {
    OpenNode* node;
    std::vector<int32_t> features;   // drawn
    std::vector<uint8_t> drawn;      // by feature
    std::vector<double> gain_bound;  // by feature, of those that are yet to be searched
    std::vector<Split> by_feature;   // none where a feature was not drawn, or cannot be best
  };

  void start(OpenNode& node, Candidates& search) const;
  void bound_or_search(Candidates& search, int32_t feature, const NodeBins& bins) const;
  void search_by_rows(Candidates& search) const;
  void search_promising(Candidates& search);
  template <typename Visit>
  void visit_bins(const OpenNode& node, std::span<const int32_t> features, Visit&& visit) const;
  Split best_of_feature(const OpenNode& node, int32_t feature, const int64_t* row_counts) const;
  double preference(const OpenNode& node, const Split& split) const;
  Split with_exact_sums(const OpenNode& node, Split split) const;
  SplitOffer own_offer(const OpenNode& node, const std::vector<Split>& by_feature) const;
  void set_split(OpenNode& node, const SplitOffer& chosen) const;
  SplitOffer best_with_enough_rows(const OpenNode& node, std::vector<Split>& by_feature);
  template <typename Wanted>
  void count_all_rows(const OpenNode& node, std::vector<Split>& by_feature, Wanted&& wanted);
  std::vector<int64_t> count_rows(const OpenNode& node, int32_t feature) const;
  bool has_missing_sums(const OpenNode& node, int32_t feature) const;
  int n_threads() const;

  const GrowthState& state_;
  HistogramPool& histograms_;
  const SplitSearch& search_;
  RowCodes codes_;                      // of nodes that are searched by their rows
  std::vector<Candidates> candidates_;  // of the nodes at hand
};

}  // namespace rankgrove
