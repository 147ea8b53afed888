// The best splits that each worker has found among its features, and the best of these.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "distributed/row_share.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/split.hpp"

namespace rankgrove {

struct SplitOffer {
  Split split;
  double preference = -std::numeric_limits<double>::infinity();  // by which splits are compared
  bool flag = false;                                             // of the caller

  // Replaces this one by another of higher preference.
  void improve(const Split& other, double other_preference) {
    if (!other.found() || !(other_preference > preference)) return;
    split = other;
    preference = other_preference;
  }
};

// The best offer of all workers for each of the nodes, on every worker: an all-gather. Among
// equal preferences, the lower worker wins, and so the lower feature.
std::vector<SplitOffer> best_offers(const RowShare& share, const Bins& bins,
                                    std::vector<SplitOffer> own);

}  // namespace rankgrove
