#include "trees/oblivious_growth.hpp"

#include <limits>
#include <numeric>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerBin = 4.0;
// A gain below this share of the children's scores is rounding noise.
constexpr double kNoise = 1e-12;

}  // namespace

struct ObliviousGrowth::LevelNode {
  int64_t begin, end;            // of this worker's rows in the partition
  int64_t total = 0;             // packed sums of all workers
  int64_t* histogram = nullptr;  // null on the last level
};

ObliviousGrowth::LevelNode ObliviousGrowth::make_root() {
  LevelNode root{0, state_.partition.size(), 0, histograms_.acquire()};
  histograms_.build(root.begin, root.end, root.histogram);
  histograms_.sum_over_workers(root.histogram);
  root.total = histograms_.total(root.histogram);
  return root;
}

Split ObliviousGrowth::best_rule(const std::vector<LevelNode>& level, int32_t depth) const {
  const std::vector<int32_t> features = state_.features.of_node(depth);
  std::vector<Split> by_feature(features.size());
  const double cost =
      kNanosecondsPerBin * state_.layout.mean_bins() * static_cast<double>(level.size());
  parallel_for(std::ssize(features), state_.n_threads, cost,
               [&](int64_t i) { by_feature[i] = best_of_feature(level, features[i]); });
  Split best;
  for (const Split& split : by_feature) {
    if (split.gain > best.gain) best = split;
  }
  if (best.found() && !best.rule.missing_left) {
    best.rule.missing_left = unseen_go_left(level, best.rule);
  }
  return best;
}

Split ObliviousGrowth::best_of_feature(const std::vector<LevelNode>& level, int32_t f) const {
  const int32_t n_bins = state_.layout.n_bins[f];
  const bool missing = state_.layout.missing[f] != 0;
  std::vector<double> right(n_bins, 0.0), left(missing ? n_bins : 0, 0.0);
  double unsplit = 0.0;
  for (const LevelNode& node : level) {
    search_.add_level_scores(f, node.histogram, node.total, state_.packed, right.data(),
                             missing ? left.data() : nullptr);
    unsplit += search_.node_score(node.total, state_.packed);
  }
  Split best;
  const auto consider = [&](const std::vector<double>& scores, int32_t n, bool missing_left) {
    for (int32_t b = 0; b < n; ++b) {
      const double gain = scores[b] - unsplit;
      if (gain > best.gain && gain > search_.rules().min_gain && gain > kNoise * scores[b]) {
        best = {gain, {f, b, missing_left}, 0};
      }
    }
  };
  consider(right, n_bins - 1 + (missing && search_.can_split_missing(f) ? 1 : 0), false);
  if (missing) consider(left, n_bins - 1, true);
  return best;
}

// The packed sums of the rows of a node that a rule sends left.
int64_t ObliviousGrowth::left_total(const LevelNode& node, const CodeRule& rule) const {
  const int64_t* bins = node.histogram + state_.layout.start[rule.feature];
  const bool with_missing = rule.missing_left && state_.layout.missing[rule.feature];
  return std::accumulate(bins, bins + rule.bin + 1,
                         with_missing ? bins[state_.layout.n_bins[rule.feature]] : int64_t{0});
}

// Where no node of the level has a missing value of the rule's feature, one that comes later
// follows the heavier children.
bool ObliviousGrowth::unseen_go_left(const std::vector<LevelNode>& level,
                                     const CodeRule& rule) const {
  int64_t left = 0, total = 0;
  for (const LevelNode& node : level) {
    const int64_t* bins = node.histogram + state_.layout.start[rule.feature];
    if (state_.layout.missing[rule.feature] && bins[state_.layout.n_bins[rule.feature]] != 0) {
      return false;
    }
    left += hessian_field(left_total(node, rule));
    total += hessian_field(node.total);
  }
  return 2 * left >= total;
}

// Appends the children of a node to the next level; histograms they get unless it is the last.
void ObliviousGrowth::split_node(const LevelNode& parent, const CodeRule& rule, bool last,
                                 std::vector<LevelNode>& next) {
  const int64_t middle = state_.partition.split(parent.begin, parent.end, rule, state_.n_threads);
  LevelNode left{parent.begin, middle}, right{middle, parent.end};
  left.total = left_total(parent, rule);
  right.total = parent.total - left.total;
  if (last) {
    histograms_.release(parent.histogram);
  } else {
    // All workers must choose the same child: several go by the Hessian, which they all know.
    const bool left_smaller = state_.share.alone()
                                  ? left.end - left.begin <= right.end - right.begin
                                  : hessian_field(left.total) <= hessian_field(right.total);
    LevelNode& smaller = left_smaller ? left : right;
    LevelNode& larger = left_smaller ? right : left;
    smaller.histogram = histograms_.acquire();
    histograms_.build(smaller.begin, smaller.end, smaller.histogram);
    histograms_.sum_over_workers(smaller.histogram);
    larger.histogram = parent.histogram;
    histograms_.subtract(smaller.histogram, larger.histogram);
  }
  next.push_back(left);
  next.push_back(right);
}

std::vector<GrownLeaf> ObliviousGrowth::grow(Tree& tree) {
  const int32_t max_depth = state_.options.max_depth;
  std::vector<LevelNode> level{make_root()};
  tree.add_leaf(0.0, 0);
  for (int32_t depth = 0; depth < max_depth; ++depth) {
    const Split best = best_rule(level, depth);
    if (!best.found()) break;
    const CodeRule& rule = best.rule;
    const float threshold = state_.threshold(rule);
    const auto first_node = static_cast<int32_t>(tree.n_nodes() - std::ssize(level));
    std::vector<LevelNode> next;
    for (int32_t j = 0; j < std::ssize(level); ++j) {
      split_node(level[j], rule, depth + 1 == max_depth, next);
      const int32_t child = tree.add_leaf(0.0, 0);
      tree.add_leaf(0.0, 0);
      // The gain is that of the whole level, and stands at its first node.
      tree.split_leaf(first_node + j, rule.feature, threshold, rule.missing_left,
                      j == 0 ? best.gain : 0.0, child);
    }
    level = std::move(next);
  }
  std::vector<GrownLeaf> leaves;
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  for (const LevelNode& node : level) {
    const auto number =
        static_cast<int32_t>(tree.n_nodes() - std::ssize(level) + std::ssize(leaves));
    leaves.push_back({number, node.begin, node.end, -kUnbounded, kUnbounded});
    histograms_.release(node.histogram);
  }
  return leaves;
}

}  // namespace rankgrove
