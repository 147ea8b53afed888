// The best splits of nodes over all features that they may use.
//
// SplitSearch knows one feature of one histogram; NodeSearch goes over features, on several
// threads, and chooses. Two siblings are searched together, and their histograms are completed on
// the way, feature by feature, while the bins are in the cache. Each of several workers searches
// its own features, and offers the others the best splits that it has found.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "trees/growth_state.hpp"
#include "trees/histogram_pool.hpp"
#include "trees/open_node.hpp"
#include "trees/split_offers.hpp"
#include "trees/split_search.hpp"

namespace rankgrove {

// The histogram of the partition's rows begin..end, yet to be built; null if there is none.
struct PendingHistogram {
  int64_t begin = 0, end = 0;
  int64_t* histogram = nullptr;
};

// whole -= part, yet to be done; null if there is nothing to do.
struct PendingSubtraction {
  int64_t* whole = nullptr;
  const int64_t* part = nullptr;
};

class NodeSearch {
 public:
  NodeSearch(const GrowthState& state, HistogramPool& histograms, const SplitSearch& search)
      : state_(state), histograms_(histograms), search_(search) {}

  // Sets node->split for those of the nodes that have a histogram, after completing histograms.
  // Nothing may be pending if no node has one.
  void find_splits(std::initializer_list<OpenNode*> nodes, const PendingHistogram& pending,
                   const PendingSubtraction& subtraction);

  // What searching one histogram costs.
  double nanoseconds() const;

 private:
  struct Candidates {
    OpenNode* node;
    std::vector<uint8_t> drawn;     // by feature
    std::vector<Split> by_feature;  // none where a feature was not drawn, or cannot be best
    double known_gain;              // of the best split that a thread has found
  };

  Split best_of_feature(const OpenNode& node, int32_t feature, const int64_t* row_counts,
                        double least_gain) const;
  double preference(const OpenNode& node, const Split& split) const;
  SplitOffer own_offer(const OpenNode& node, const std::vector<Split>& by_feature) const;
  void set_split(OpenNode& node, const SplitOffer& chosen) const;
  SplitOffer best_with_enough_rows(const OpenNode& node, std::vector<Split>& by_feature);
  void count_all_rows(const OpenNode& node, std::vector<Split>& by_feature);
  std::vector<int64_t> count_rows(const OpenNode& node, int32_t feature) const;
  bool has_missing_sums(const OpenNode& node, int32_t feature) const;
  int n_threads() const;

  const GrowthState& state_;
  HistogramPool& histograms_;
  const SplitSearch& search_;
  std::vector<Candidates> candidates_;  // of the nodes at hand
};

}  // namespace rankgrove
