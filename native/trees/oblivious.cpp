// Oblivious growth: one rule per level, the one that suits all nodes of the level best together.
//
// Nodes are numbered breadth-first, so that the whole tree is a table of 2^depth leaves.
#include <algorithm>
#include <numeric>

#include "common/parallel.hpp"
#include "trees/tree_grower.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerBin = 4.0;

}  // namespace

struct TreeGrower::LevelNode {
  int64_t begin, end;
  int64_t total;
  int64_t* histogram;
};

// The rule that gains most in all nodes of a level together.
Split TreeGrower::best_rule(const std::vector<LevelNode>& level, uint64_t seed, int32_t depth) {
  const std::vector<int32_t> features =
      draw_features(tree_features_, options_.max_features_node, seed, depth + 1);
  std::vector<Split> by_feature(features.size());
  const double cost = kNanosecondsPerBin * mean_bins() * static_cast<double>(level.size());
  parallel_for(static_cast<int64_t>(features.size()), n_threads_, cost, [&](int64_t i) {
    const int32_t f = features[i];
    const int32_t n_bins = layout_.n_bins[f];
    const bool missing = layout_.missing[f] != 0;
    std::vector<double> right(n_bins, 0.0), left(missing ? n_bins : 0, 0.0);
    double unsplit = 0.0;
    for (const LevelNode& node : level) {
      search_.add_level_scores(f, node.histogram, node.total, packed_, right.data(),
                               missing ? left.data() : nullptr);
      unsplit += search_.node_score(node.total, packed_);
    }
    Split& best = by_feature[i];
    const auto consider = [&](const std::vector<double>& scores, int32_t n, bool missing_left) {
      for (int32_t b = 0; b < n; ++b) {
        const double gain = scores[b] - unsplit;
        if (gain > best.gain && gain > options_.rules.min_gain && gain > 1e-12 * scores[b]) {
          best = {gain, f, b, missing_left, 0};
        }
      }
    };
    consider(right, n_bins - 1 + (missing && search_.can_split_missing(f) ? 1 : 0), false);
    if (missing) consider(left, n_bins - 1, true);
  });
  Split best;
  for (const Split& split : by_feature) {
    if (split.gain > best.gain) best = split;
  }
  if (best.found() && !best.missing_left) best.missing_left = unseen_go_left(level, best);
  return best;
}

// Where no node of the level has a missing value of the rule's feature, one that comes later
// follows the heavier children.
bool TreeGrower::unseen_go_left(const std::vector<LevelNode>& level, const Split& rule) const {
  const int32_t n_bins = layout_.n_bins[rule.feature];
  int64_t left = 0, total = 0;
  for (const LevelNode& node : level) {
    const int64_t* bins = node.histogram + layout_.start[rule.feature];
    if (layout_.missing[rule.feature] && bins[n_bins] != 0) return false;
    left += hessian_field(std::accumulate(bins, bins + rule.bin + 1, int64_t{0}));
    total += hessian_field(node.total);
  }
  return 2 * left >= total;
}

void TreeGrower::grow_oblivious(Tree& tree, uint64_t seed) {
  std::vector<LevelNode> level(1, {0, partition_.size(), 0, new_histogram()});
  build_histogram(0, partition_.size(), level[0].histogram);
  share_.sum(level[0].histogram, layout_.size());
  level[0].total = histogram_total(level[0].histogram);
  tree.add_leaf(0.0, 0);

  int32_t depth = 0;
  for (; depth < options_.max_depth; ++depth) {
    const Split best = best_rule(level, seed, depth);
    if (!best.found()) break;

    const float level_threshold = threshold(best.feature, best.bin);
    const bool last = depth + 1 == options_.max_depth;
    std::vector<LevelNode> next;
    const auto first_node = static_cast<int32_t>(tree.n_nodes() - level.size());
    for (size_t j = 0; j < level.size(); ++j) {
      LevelNode& parent = level[j];
      const int64_t middle = partition_.split(
          parent.begin, parent.end, {best.feature, best.bin, best.missing_left}, n_threads_);
      LevelNode left{parent.begin, middle, 0, nullptr}, right{middle, parent.end, 0, nullptr};
      const int64_t* bins = parent.histogram + layout_.start[best.feature];
      left.total = std::accumulate(bins, bins + best.bin + 1, int64_t{0});
      if (best.missing_left && layout_.missing[best.feature]) {
        left.total += bins[layout_.n_bins[best.feature]];
      }
      right.total = parent.total - left.total;
      if (!last) {
        const bool left_smaller = share_.alone()
                                      ? left.end - left.begin <= right.end - right.begin
                                      : hessian_field(left.total) <= hessian_field(right.total);
        LevelNode& smaller = left_smaller ? left : right;
        LevelNode& larger = left_smaller ? right : left;
        smaller.histogram = new_histogram();
        build_histogram(smaller.begin, smaller.end, smaller.histogram);
        share_.sum(smaller.histogram, layout_.size());
        larger.histogram = parent.histogram;
        for (int32_t b = 0; b < layout_.size(); ++b) larger.histogram[b] -= smaller.histogram[b];
      } else {
        free_histograms_.push_back(parent.histogram);
      }
      const int32_t child = tree.add_leaf(0.0, 0);
      tree.add_leaf(0.0, 0);
      tree.split_leaf(first_node + static_cast<int32_t>(j), best.feature, level_threshold,
                      best.missing_left, j == 0 ? best.gain : 0.0, child);
      next.push_back(left);
      next.push_back(right);
    }
    level = std::move(next);
  }
  const auto first_leaf = static_cast<int32_t>(tree.n_nodes() - level.size());
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  for (size_t j = 0; j < level.size(); ++j) {
    leaves_.push_back({first_leaf + static_cast<int32_t>(j), level[j].begin, level[j].end,
                       -kUnbounded, kUnbounded});
    if (level[j].histogram) free_histograms_.push_back(level[j].histogram);
  }
}

}  // namespace rankgrove
