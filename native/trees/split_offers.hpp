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
  double worth = -std::numeric_limits<double>::infinity();  // by which splits are compared
  bool flag = false;                                        // a word of the caller's

  // Replaces this one by another that is worth more.
  void improve(const Split& other, double other_worth) {
    if (!other.found() || !(other_worth > worth)) return;
    split = other;
    worth = other_worth;
  }
};

// The best offer of all workers for each of the nodes, on every worker: an all-gather. Equal worth
// goes to the lower worker, and so to the lower feature.
std::vector<SplitOffer> best_offers(const RowShare& share, const Bins& bins,
                                    std::vector<SplitOffer> own);

}  // namespace rankgrove
