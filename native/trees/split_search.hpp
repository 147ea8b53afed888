// The best split of a node, from its histogram.
//
// With G and H the sums of gradients and Hessians, a node scores G^2 / (H + l2); the gain of a
// split is the children's scores less the node's own. Equal gains go to the lower feature, then
// missing values to the right before to the left, then the lower bin.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "trees/binned_matrix.hpp"
#include "trees/histogram_layout.hpp"
#include "trees/packed_gradients.hpp"
#include "trees/split.hpp"

namespace rankgrove {

// A user's own measure of candidate splits of one feature: sums of gradients and Hessians left and
// right of each candidate in, gains out. Called from one thread at a time; `evaluate` is copied and
// dropped by threads that know nothing of its insides.
struct SplitCriterion {
  std::string name;  // for messages
  std::function<void(const std::vector<double>& gradient_left,
                     const std::vector<double>& hessian_left,
                     const std::vector<double>& gradient_right,
                     const std::vector<double>& hessian_right, std::vector<double>& gain)>
      evaluate;

  explicit operator bool() const { return static_cast<bool>(evaluate); }
};

struct SplitRules {
  double l2 = 0.0;
  double min_gain = 0.0;
  double min_child_weight = 0.0;
  int64_t min_samples_leaf = 1;
  std::vector<int8_t> monotone;  // per feature -1, 0 or 1; empty for none
  SplitCriterion criterion;      // replaces the gain above; empty for none
};

// What a search knows of a node: its packed sums, and the range its answer must keep to.
struct NodeSums {
  int64_t total = 0;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

// The answer of a node with these sums, kept within the node's range.
double node_answer(double gradient, double hessian, double l2, double lower, double upper);

class SplitSearch {
 public:
  SplitSearch(const HistogramLayout& layout, const Bins& bins, SplitRules rules)
      : layout_(layout), bins_(bins), rules_(std::move(rules)) {}

  const SplitRules& rules() const { return rules_; }

  // The best split of one feature, or none. `row_counts`, if given, holds the feature's rows per
  // bin and makes min_samples_leaf exact where the packed Hessians do not count rows. Splits that
  // gain less than `least_gain` may be passed over.
  Split best_of_feature(int32_t feature, const int64_t* histogram, const NodeSums& node,
                        const PackedGradients& packed, const int64_t* row_counts = nullptr,
                        double least_gain = -std::numeric_limits<double>::infinity()) const;

  // Adds to scores[bin], for missing values to the right and to the left, what splitting this node
  // there would score (both children together; an impossible split scores what the node does).
  // Both arrays have n_bins entries; the last one splits missing values from all others.
  void add_level_scores(int32_t feature, const int64_t* histogram, int64_t total,
                        const PackedGradients& packed, double* right_scores,
                        double* left_scores) const;

  // What a node scores unsplit.
  double node_score(int64_t total, const PackedGradients& packed) const;

  // Whether the last bin can be split from the missing values: its threshold must be finite.
  bool can_split_missing(int32_t feature) const { return bins_.has_infinity[feature] == 0; }

 private:
  struct Candidates;
  void apply_criterion(const Candidates& candidates, int64_t total, const PackedGradients& packed,
                       double* score) const;
  void consider(const Candidates& candidates, const NodeSums& node, const PackedGradients& packed,
                Split& best) const;

  const HistogramLayout& layout_;
  const Bins& bins_;
  SplitRules rules_;
};

}  // namespace rankgrove
