// The candidate subsets of a categorical feature: prefixes of a few lists of its categories.
//
// Of n categories there are 2^(n-1) - 1 ways to make two sides. If the score of a side is G^2 / H,
// one of the best ways puts some of the categories with the lowest G / H on one side (Fisher 1958),
// so that n - 1 ways are enough. Sums of few rows are noisy: the ratio is smoothed, G / (H + s h),
// where h is the mean Hessian of the rows of the node, so that s counts rows whatever the scale of
// the loss, and categories of too few rows stay on the other side, with those that the node does
// not have.
//
// Example: sums (G, H) of the categories are 0: (3, 2), 1: (-4, 2), 2: (1, 4). With s = 0 the
// ratios are 1.5, -2 and 0.25, and the lists {1, 2, 0} and {0, 2, 1}: their prefixes {1}, {1, 2},
// {0}, {0, 2} are tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trees/packed_gradients.hpp"

namespace rankgrove {

struct CategoryRules {
  double smoothing = 3.0;     // s above
  double l2 = 10.0;           // times h: added to that of the gain, if categories are put together
  int32_t max_listed = 1024;  // most categories of a split's set
  int32_t max_onehot = 4;     // up to this many categories, each is tried alone against all others
  int64_t min_samples = 30;   // least rows of a category in a set
  double penalty = 1.0;       // of the gain that chance gives to a set
};

// Lists of codes, of which every prefix is a candidate for the left side.
struct CategoryRuns {
  std::vector<std::vector<int32_t>> lists;
  double l2 = 0.0;                // to be added
  std::vector<double> penalties;  // of prefixes of 1, 2, ... categories; empty for none

  const double* penalties_of(const std::vector<int32_t>& list) const {
    return list.empty() || penalties.empty() ? nullptr : penalties.data();
  }
};

// Makes the lists from the packed sums of each category. `row_counts` are its rows; if null, they
// are estimated by its share of the Hessians and the number of rows of all.
CategoryRuns category_runs(std::span<const int64_t> sums, const int64_t* row_counts, int64_t total,
                           int64_t n_rows, const GradientUnits& packed, const CategoryRules& rules);

}  // namespace rankgrove
