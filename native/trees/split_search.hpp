// The best split of a node, from its histogram.
//
// With G and H the sums of gradients and Hessians, the score of a node is G^2 / (H + l2). The gain
// of a split is the sum of the children's scores minus the score of the node. With l1 > 0, G is
// first moved towards 0 by l1, as in the value a of a leaf, which minimises G a + (H + l2) a^2 / 2
// + l1 |a|. Among equal gains, the lower feature is taken, then missing values on the right before
// those on the left, then the lower bin. Splits of a categorical feature are prefixes of lists of
// categories (category_runs.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "trees/binned_matrix.hpp"
#include "trees/category_runs.hpp"
#include "trees/histogram_layout.hpp"
#include "trees/packed_gradients.hpp"
#include "trees/prefix_bins.hpp"
#include "trees/split.hpp"
#include "trees/split_noise.hpp"

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
  double l1 = 0.0;
  double l2 = 0.0;
  double min_gain = 0.0;
  double min_child_weight = 0.0;
  int64_t min_samples_leaf = 1;
  CategoryRules categories;
  std::vector<int8_t> monotone;  // per feature -1, 0 or 1; empty for none
  SplitCriterion criterion;      // replaces the gain above; empty for none
  bool missing_branch = false;   // missing values are a child of their own
};

// The data of a node for a search: its sums, the range of its value, and the noise with which its
// splits are compared.
struct NodeSums {
  GradientSums total;
  int64_t n_rows = 0;  // of all workers
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  SplitNoise noise;
};

// The bins of one feature of a node, as words.
struct NodeBins {
  const int64_t* bins;
  int64_t total;  // their sum
  const GradientUnits* units;
  // Rows per bin and of missing values (0 if there is no bin for them), or null. They make
  // min_samples_leaf exact where the Hessian field does not count rows.
  const int64_t* row_counts = nullptr;
};

// The answer of a node with these sums, kept within the node's range.
double node_answer(double gradient, double hessian, const SplitRules& rules, double lower,
                   double upper);

class SplitSearch {
 public:
  SplitSearch(const HistogramLayout& layout, const Bins& bins, SplitRules rules)
      : layout_(layout), bins_(bins), rules_(std::move(rules)) {}

  const SplitRules& rules() const { return rules_; }

  // The best split of one feature, or none.
  Split best_of_feature(int32_t feature, const NodeBins& bins, const NodeSums& node) const;

  // Whether gain_bound() can bound the gains of a feature's splits.
  bool can_bound(int32_t feature, const NodeSums& node, const GradientUnits& packed) const;

  // An upper bound, by rough scores, of the gains of the feature's splits; -inf if it has none.
  // Bounding all features first, and searching those that may be best, is faster than searching
  // all.
  double gain_bound(int32_t feature, const NodeBins& bins, const NodeSums& node) const;

  // Adds to scores[bin], for missing values on the right and on the left, the score of both
  // children if this node is split there; for an impossible split, the score of the node. Both
  // arrays have n_bins entries; the last one splits missing values from all others.
  void add_level_scores(int32_t feature, const NodeBins& bins, double* right_scores,
                        double* left_scores) const;

  // The same for splits after prefixes of any bins.
  void add_prefix_scores(const PrefixBins& prefixes, int64_t total, const GradientUnits& packed,
                         double* right_scores, double* left_scores) const;

  // The score of a node without a split.
  double node_score(const GradientSums& total, const GradientUnits& packed) const;

  // Whether the last bin can be split from the missing values: its threshold must be finite.
  bool can_split_missing(int32_t feature) const { return bins_.has_infinity[feature] == 0; }

 private:
  struct Candidates;
  double least_weight(const GradientUnits& packed) const;
  std::pair<int32_t, int32_t> with_enough_rows(const Candidates& candidates) const;
  bool scores_decide(int32_t feature, const NodeSums& node, const GradientUnits& packed,
                     double more_l2) const;
  Split best_of_categories(int32_t feature, const NodeBins& bins, const NodeSums& node) const;
  void apply_criterion(const Candidates& candidates, const GradientUnits& packed,
                       double* score) const;
  void consider(const Candidates& candidates, const NodeSums& node, const GradientUnits& packed,
                Split& best) const;
  bool may_branch(const Candidates& candidates, const GradientUnits& packed) const;
  void consider_branch(const Candidates& candidates, const NodeSums& node,
                       const GradientUnits& packed, Split& best) const;
  void choose_preferred(const Candidates& candidates, const SplitNoise& noise, double node_score,
                        Split& best) const;

  const HistogramLayout& layout_;
  const Bins& bins_;
  SplitRules rules_;
};

}  // namespace rankgrove
