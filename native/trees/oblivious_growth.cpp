#include "trees/oblivious_growth.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "common/category_bits.hpp"
#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerBin = 4.0;
// A gain below this share of the children's scores is rounding noise.
constexpr double kNoise = 1e-12;

}  // namespace

struct ObliviousGrowth::LevelNode {
  int64_t begin, end;            // of this worker's rows in the partition
  GradientSums total;            // of all workers
  int64_t* histogram = nullptr;  // null on the last level
  int64_t* counts = nullptr;     // rows of all workers per bin, where they are limited
};

ObliviousGrowth::LevelNode ObliviousGrowth::make_root() {
  LevelNode root{0, state_.partition.size(), {}, histograms_.acquire()};
  histograms_.build(root.begin, root.end, root.histogram);
  root.total = histograms_.total(root.histogram);
  histograms_.sum_over_workers(root.histogram, &root.total.gradient, 2);
  if (counts_rows()) {
    root.counts = histograms_.acquire();
    histograms_.build_row_counts(root.begin, root.end, root.counts);
  }
  return root;
}

// Histograms hold weights; numbers of rows they hold only if every row weighs 1.
bool ObliviousGrowth::counts_rows() const {
  return state_.options.rules.min_samples_leaf > 1 && !state_.packed.counts_rows;
}

Split ObliviousGrowth::best_rule(const std::vector<LevelNode>& level, int32_t depth) const {
  std::vector<int32_t> features;
  for (const int32_t f : state_.features_of(depth)) {
    if (state_.searched.has(f)) features.push_back(f);
  }
  std::vector<Split> by_feature(features.size());
  const double cost =
      kNanosecondsPerBin * state_.layout.mean_bins() * static_cast<double>(level.size());
  parallel_for(std::ssize(features), state_.n_threads, cost,
               [&](int64_t i) { by_feature[i] = best_of_feature(level, depth, features[i]); });
  SplitOffer best;
  for (const Split& split : by_feature) best.improve(split, preference(level, depth, split));
  return best_offers(state_.share, *state_.binned->bins, {best})[0].split;
}

// The value by which the best rules of features are compared: their gain, unless noise is wanted.
double ObliviousGrowth::preference(const std::vector<LevelNode>& level, int32_t depth,
                                   const Split& split) const {
  if (!state_.noise || !split.found()) return split.gain;
  double score = split.gain;
  for (const LevelNode& node : level) score += search_.node_score(node.total, state_.packed);
  return state_.noise.of_node(depth).preference(score, split.rule.feature, -1);
}

// The bins of a feature of one node of the level, with the rows per bin where they are limited.
NodeBins ObliviousGrowth::node_bins(const LevelNode& node, int32_t f) const {
  NodeBins bins = histograms_.bins(f, node.histogram, node.total);
  if (node.counts) bins.row_counts = node.counts + state_.layout.start[f];
  return bins;
}

// The categories are ordered by their sums over all nodes of the level.
Split ObliviousGrowth::best_of_categories(const std::vector<LevelNode>& level, int32_t depth,
                                          int32_t f) const {
  const int32_t n_bins = state_.layout.n_bins[f];
  std::vector<GradientSums> sums(n_bins + 1);
  double unsplit = 0.0;
  for (const LevelNode& node : level) {
    for (int32_t b = 0; b <= n_bins; ++b) sums[b] += histograms_.bin(node.histogram, f, b);
    const NodeBins bins = node_bins(node, f);
    unsplit += search_.node_score(unpacked(bins.total), *bins.units);
  }
  const bool some_missing = sums.back() != GradientSums{};
  const NodeBins of_level = histograms_.bins(sums);
  CategoryRuns runs =
      category_runs({of_level.bins, static_cast<size_t>(n_bins)}, nullptr, of_level.total,
                    state_.packed.n_sampled, *of_level.units, search_.rules().categories);
  if (some_missing) runs.lists.push_back({});  // missing values against all others
  Split best;
  int64_t n_before = 0;  // candidates
  for (const std::vector<int32_t>& list : runs.lists) {
    const size_t n = std::max<size_t>(1, list.size());
    std::vector<double> right(n, 0.0), left(n, 0.0);
    for (const LevelNode& node : level) {
      const NodeBins bins = node_bins(node, f);
      const ListedBins listed(list, bins.bins, bins.row_counts, n_bins,
                              list.empty() ? 0.0 : runs.l2, nullptr);
      search_.add_prefix_scores(listed.prefixes(), bins.total, *bins.units, right.data(),
                                some_missing ? left.data() : nullptr);
    }
    for (size_t i = 0; i < std::min(list.size(), runs.penalties.size()); ++i) {
      right[i] -= runs.penalties[i];
      left[i] -= runs.penalties[i];
    }
    const int32_t kept = std::exchange(best.rule.bin, -1);
    if (!list.empty()) choose(right, unsplit, depth, {f, n_before, false}, best);
    if (some_missing) choose(left, unsplit, depth, {f, n_before, true}, best);
    n_before += std::ssize(list) + 1;
    if (best.rule.bin < 0) {
      best.rule.bin = kept;
    } else {
      best.rule.categories = std::make_shared<const std::vector<uint32_t>>(
          category_words(std::span(list).first(list.empty() ? 0 : best.rule.bin + 1)));
    }
  }
  return best;
}

Split ObliviousGrowth::best_of_feature(const std::vector<LevelNode>& level, int32_t depth,
                                       int32_t f) const {
  if (state_.binned->bins->is_categorical(f)) return best_of_categories(level, depth, f);
  const int32_t n_bins = state_.layout.n_bins[f];
  const bool missing = state_.layout.missing[f] != 0;
  std::vector<double> right(n_bins, 0.0), left(missing ? n_bins : 0, 0.0);
  double unsplit = 0.0;
  for (const LevelNode& node : level) {
    const NodeBins bins = node_bins(node, f);
    search_.add_level_scores(f, bins, right.data(), missing ? left.data() : nullptr);
    unsplit += search_.node_score(unpacked(bins.total), *bins.units);
  }
  Split best;
  right.resize(n_bins - 1 + (missing && search_.can_split_missing(f) ? 1 : 0));
  choose(right, unsplit, depth, {f, 0, false}, best);
  if (missing) {
    left.resize(n_bins - 1);
    choose(left, unsplit, depth, {f, 0, true}, best);
  }
  return best;
}

// Replaces `best` by a better one of the candidates that have these scores.
void ObliviousGrowth::choose(const std::vector<double>& scores, double unsplit, int32_t depth,
                             const LevelCandidates& candidates, Split& best) const {
  const auto& [f, first, missing_left] = candidates;
  const SplitNoise noise = state_.noise.of_node(depth);
  const bool noisy{noise};
  for (int32_t b = 0; b < std::ssize(scores); ++b) {
    const double gain = scores[b] - unsplit;
    if (!noisy && !(gain > best.gain)) continue;
    if (!(gain > search_.rules().min_gain) || !(gain > kNoise * scores[b])) continue;
    const int64_t candidate = 2 * (first + b) + (missing_left ? 1 : 0);
    const double preference = noisy ? noise.preference(scores[b], f, candidate) : gain;
    if (preference > best.preference) best = {gain, {f, b, missing_left}, {}, preference};
  }
}

// The sums of each node's rows that a rule sends left, which the worker that searches the feature
// tells the others; missing values that come later follow the heavier children, unless the rule
// says where missing values go or some node has one.
std::vector<GradientSums> ObliviousGrowth::left_totals(const std::vector<LevelNode>& level,
                                                       CodeRule& rule) const {
  std::vector<GradientSums> left(level.size() + 1);  // and whether the rule is changed
  if (state_.searched.has(rule.feature)) {
    if (!rule.missing_left) rule.missing_left = unseen_go_left(level, rule);
    for (size_t i = 0; i < level.size(); ++i) {
      left[i] = histograms_.left(level[i].histogram, rule);
    }
    left.back().gradient = rule.missing_left ? 1 : 0;
  }
  state_.share.sum(&left[0].gradient, 2 * left.size() - 1);
  rule.missing_left = left.back().gradient != 0;
  left.pop_back();
  return left;
}

// Whether no node of the level has a missing value of the rule's feature, and most go left.
bool ObliviousGrowth::unseen_go_left(const std::vector<LevelNode>& level,
                                     const CodeRule& rule) const {
  int64_t left = 0, total = 0;
  for (const LevelNode& node : level) {
    if (histograms_.missing(node.histogram, rule.feature) != GradientSums{}) return false;
    left += histograms_.left(node.histogram, rule).hessian;
    total += node.total.hessian;
  }
  return 2 * left >= total;
}

// Appends the children of a node to the next level; histograms they get unless it is the last.
void ObliviousGrowth::split_node(const LevelNode& parent, const CodeRule& rule,
                                 const GradientSums& left_total, bool last,
                                 std::vector<LevelNode>& next) {
  const int64_t middle = state_.partition.split(parent.begin, parent.end, rule, state_.n_threads);
  LevelNode left{parent.begin, middle}, right{middle, parent.end};
  left.total = left_total;
  right.total = parent.total - left.total;
  if (last) {
    histograms_.release(parent.histogram);
    histograms_.release(parent.counts);
  } else {
    // All workers must choose the same child: several go by the Hessian, which they all know.
    const bool left_smaller = state_.share.alone()
                                  ? left.end - left.begin <= right.end - right.begin
                                  : left.total.hessian <= right.total.hessian;
    LevelNode& smaller = left_smaller ? left : right;
    LevelNode& larger = left_smaller ? right : left;
    smaller.histogram = histograms_.acquire();
    histograms_.build(smaller.begin, smaller.end, smaller.histogram);
    histograms_.sum_over_workers(smaller.histogram);
    larger.histogram = parent.histogram;
    histograms_.subtract(smaller.histogram, larger.histogram);
    if (parent.counts) {
      smaller.counts = histograms_.acquire();
      histograms_.build_row_counts(smaller.begin, smaller.end, smaller.counts);
      larger.counts = parent.counts;
      histograms_.subtract_row_counts(smaller.counts, larger.counts);
    }
  }
  next.push_back(left);
  next.push_back(right);
}

std::vector<GrownLeaf> ObliviousGrowth::grow(Tree& tree) {
  const int32_t max_depth = state_.options.max_depth;
  std::vector<LevelNode> level{make_root()};
  tree.add_leaf(0.0, 0);
  for (int32_t depth = 0; depth < max_depth; ++depth) {
    Split best = best_rule(level, depth);
    if (!best.found()) break;
    CodeRule& rule = best.rule;
    const std::vector<GradientSums> left = left_totals(level, rule);
    const float threshold = state_.threshold(rule);
    const auto first_node = static_cast<int32_t>(tree.n_nodes() - std::ssize(level));
    const int32_t set = rule.categories ? tree.categories.add(*rule.categories) : -1;
    std::vector<LevelNode> next;
    for (int32_t j = 0; j < std::ssize(level); ++j) {
      split_node(level[j], rule, left[j], depth + 1 == max_depth, next);
      const int32_t child = tree.add_leaf(0.0, 0);
      tree.add_leaf(0.0, 0);
      // The gain is that of the whole level, and stands at its first node.
      tree.split_leaf(first_node + j, rule.feature, threshold, rule.missing_left,
                      j == 0 ? best.gain : 0.0, child);
      if (set >= 0) tree.categories.assign(first_node + j, set, tree.n_nodes());
    }
    if (!state_.interactions.empty()) state_.interactions.split(depth, rule.feature, depth + 1);
    level = std::move(next);
  }
  std::vector<GrownLeaf> leaves;
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  for (const LevelNode& node : level) {
    const auto number =
        static_cast<int32_t>(tree.n_nodes() - std::ssize(level) + std::ssize(leaves));
    leaves.push_back({number, node.begin, node.end, -kUnbounded, kUnbounded});
    histograms_.release(node.histogram);
    histograms_.release(node.counts);
  }
  return leaves;
}

}  // namespace rankgrove
