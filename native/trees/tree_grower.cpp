#include "trees/tree_grower.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kLeafBlock = 8192;
constexpr double kNanosecondsPerRow = 2.0;
constexpr double kNanosecondsPerBin = 4.0;

// Least squares are those of the gradients: l2 belongs to the Hessians, and so to leaf values
// alone.
SplitRules split_rules(const GrowOptions& options) {
  SplitRules rules = options.rules;
  if (options.least_squares_splits) rules.l2 = 0.0;
  return rules;
}

}  // namespace

// A leaf that may still be split.
struct TreeGrower::OpenNode {
  int32_t node;
  int32_t depth;
  int64_t begin, end;
  NodeSums sums;
  int64_t* histogram;
  Split split;
  bool rows_counted = false;  // the split's children are known to have enough rows

  int64_t n_rows() const { return end - begin; }
};

TreeGrower::TreeGrower(std::shared_ptr<const BinnedMatrix> binned, GrowOptions options,
                       int n_threads)
    : binned_(std::move(binned)),
      options_(std::move(options)),
      n_threads_(n_threads),
      layout_(*binned_->bins),
      store_(*binned_, layout_, n_threads),
      search_(layout_, *binned_->bins, split_rules(options_)),
      partition_(*binned_) {}

int64_t* TreeGrower::new_histogram() {
  if (free_histograms_.empty()) {
    histograms_.push_back(std::make_unique_for_overwrite<int64_t[]>(layout_.size()));
    return histograms_.back().get();
  }
  int64_t* histogram = free_histograms_.back();
  free_histograms_.pop_back();
  return histogram;
}

// What the search of a feature costs.
double TreeGrower::mean_search_nanoseconds() const {
  return kNanosecondsPerBin * layout_.size() / std::max(1, layout_.n_features());
}

void TreeGrower::build_histogram(int64_t begin, int64_t end, int64_t* histogram) {
  const bool whole = samples_all_rows_ && begin == 0 && end == partition_.size();
  store_.build(packed_.words.data(), whole ? nullptr : partition_.rows(), begin, end, n_threads_,
               partial_histograms_, histogram);
}

float TreeGrower::threshold(int32_t feature, int32_t bin) const {
  return bin + 1 < layout_.n_bins[feature] ? binned_->bins->cut(feature, bin)
                                           : std::numeric_limits<float>::infinity();
}

// A sorted draw without replacement of a share of the pool, at least one feature.
std::vector<int32_t> TreeGrower::draw_features(const std::vector<int32_t>& pool, double share,
                                               uint64_t seed, uint64_t stream) const {
  const auto wanted =
      std::clamp<size_t>(static_cast<size_t>(share * static_cast<double>(pool.size()) + 0.5), 1,
                         std::max<size_t>(pool.size(), 1));
  if (wanted >= pool.size()) return pool;
  std::vector<int32_t> drawn = pool;
  Random random(seed, stream);
  for (size_t i = 0; i < wanted; ++i) {
    std::swap(drawn[i], drawn[i + random.below(drawn.size() - i)]);
  }
  drawn.resize(wanted);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

void TreeGrower::find_split(OpenNode& node, uint64_t seed) {
  const std::vector<int32_t> features =
      draw_features(tree_features_, options_.max_features_node, seed, node.node + 1);
  std::vector<Split> by_feature(features.size());
  const int threads = options_.rules.criterion ? 1 : n_threads_;
  parallel_for(
      static_cast<int64_t>(features.size()), threads, mean_search_nanoseconds(), [&](int64_t i) {
        by_feature[i] = search_.best_of_feature(features[i], node.histogram, node.sums, packed_);
      });
  Split best;
  if (node.rows_counted) {
    best = best_with_enough_rows(node, by_feature);
  } else {
    for (const Split& split : by_feature) {
      if (split.found() && split.gain > best.gain) best = split;
    }
  }
  // Where the node has no missing value, one that comes later follows the heavier child. (Rows
  // whose sums are 0 may follow it too, unless the children's rows have been counted.)
  if (best.found() && !best.missing_left && !has_missing(node, best.feature)) {
    best.missing_left = 2 * int64_t{hessian_field(best.left)} >= hessian_field(node.sums.total);
  }
  node.split = best;
}

bool TreeGrower::has_missing(const OpenNode& node, int32_t feature) const {
  const int32_t n_bins = layout_.n_bins[feature];
  if (!layout_.missing[feature]) return false;
  if (node.histogram[layout_.start[feature] + n_bins] != 0) return true;
  if (!node.rows_counted) return false;
  std::vector<int64_t> counts(n_bins + 1, 0);
  partition_.count_codes(node.begin, node.end, feature, counts.data());
  return counts[n_bins] > 0;
}

// The best split whose children have enough rows. Histograms hold weights, not numbers of rows, so
// the rows of each feature that comes out best are counted.
Split TreeGrower::best_with_enough_rows(const OpenNode& node, std::vector<Split>& by_feature) {
  std::vector<uint8_t> counted(by_feature.size(), 0);
  for (;;) {
    size_t best = by_feature.size();
    double gain = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < by_feature.size(); ++i) {
      if (by_feature[i].found() && by_feature[i].gain > gain) {
        best = i;
        gain = by_feature[i].gain;
      }
    }
    if (best == by_feature.size()) return {};
    const Split& split = by_feature[best];
    if (counted[best]) return split;
    std::vector<int64_t> counts(layout_.n_bins[split.feature] + 1, 0);
    partition_.count_codes(node.begin, node.end, split.feature, counts.data());
    by_feature[best] =
        search_.best_of_feature(split.feature, node.histogram, node.sums, packed_, counts.data());
    counted[best] = 1;
  }
}

bool TreeGrower::may_split(const OpenNode& node) const {
  return (options_.max_depth == 0 || node.depth < options_.max_depth) &&
         node.n_rows() >= 2 * options_.rules.min_samples_leaf && node.n_rows() >= 2;
}

TreeGrower::OpenNode TreeGrower::make_root(Tree& tree) {
  const int64_t n = partition_.size();
  OpenNode root{tree.add_leaf(0.0, static_cast<uint32_t>(n)), 0, 0, n, {}, nullptr, {}};
  for (int64_t i = 0; i < n; ++i) root.sums.total += packed_.words[partition_.rows()[i]];
  if (may_split(root) && options_.max_leaf_nodes > 1) {
    root.histogram = new_histogram();
    build_histogram(root.begin, root.end, root.histogram);
  }
  return root;
}

// The children of a node whose rows have been parted at `middle`, as leaves of the tree.
std::pair<TreeGrower::OpenNode, TreeGrower::OpenNode> TreeGrower::make_children(
    Tree& tree, const OpenNode& parent, int64_t middle) const {
  const Split& split = parent.split;
  OpenNode left{-1, parent.depth + 1, parent.begin, middle, parent.sums, nullptr, {}};
  OpenNode right{-1, parent.depth + 1, middle, parent.end, parent.sums, nullptr, {}};
  left.sums.total = split.left;
  right.sums.total = parent.sums.total - split.left;
  const int direction =
      options_.rules.monotone.empty() ? 0 : options_.rules.monotone[split.feature];
  if (direction != 0) {
    const auto answer = [&](int64_t word) {
      return node_answer(gradient_field(word) * packed_.gradient_unit,
                         hessian_field(word) * packed_.hessian_unit, search_.rules().l2,
                         parent.sums.lower, parent.sums.upper);
    };
    const double between = 0.5 * (answer(left.sums.total) + answer(right.sums.total));
    (direction > 0 ? left.sums.upper : left.sums.lower) = between;
    (direction > 0 ? right.sums.lower : right.sums.upper) = between;
  }
  left.node = tree.add_leaf(0.0, static_cast<uint32_t>(left.n_rows()));
  right.node = tree.add_leaf(0.0, static_cast<uint32_t>(right.n_rows()));
  tree.split_leaf(parent.node, split.feature, threshold(split.feature, split.bin),
                  split.missing_left, split.gain, left.node);
  return {left, right};
}

// Gives histograms to those children that may be split, if any: the smaller child is counted, the
// larger one is what is left of the parent, whose histogram goes.
void TreeGrower::share_histogram(const OpenNode& parent, OpenNode& left, OpenNode& right) {
  if (!may_split(left) && !may_split(right)) {
    free_histograms_.push_back(parent.histogram);
    return;
  }
  OpenNode& smaller = left.n_rows() <= right.n_rows() ? left : right;
  OpenNode& larger = left.n_rows() <= right.n_rows() ? right : left;
  smaller.histogram = new_histogram();
  build_histogram(smaller.begin, smaller.end, smaller.histogram);
  larger.histogram = parent.histogram;
  for (int32_t b = 0; b < layout_.size(); ++b) larger.histogram[b] -= smaller.histogram[b];
  for (OpenNode* child : {&left, &right}) {
    if (may_split(*child)) continue;
    free_histograms_.push_back(child->histogram);
    child->histogram = nullptr;
  }
}

void TreeGrower::grow_node_by_node(Tree& tree, uint64_t seed) {
  const bool leaf_wise = options_.growth == Growth::kLeafWise;
  // The next node to split comes out on top.
  const auto later = [&](const OpenNode& a, const OpenNode& b) {
    if (leaf_wise && a.split.gain != b.split.gain) return a.split.gain < b.split.gain;
    return a.node > b.node;
  };
  std::priority_queue<OpenNode, std::vector<OpenNode>, decltype(later)> open(later);
  const auto close = [&](const OpenNode& node) {
    leaves_.push_back({node.node, node.begin, node.end, node.sums.lower, node.sums.upper});
    if (node.histogram) free_histograms_.push_back(node.histogram);
  };
  const auto offer = [&](OpenNode node) {
    if (node.histogram) find_split(node, seed);
    if (node.split.found()) {
      open.push(node);
    } else {
      close(node);
    }
  };

  offer(make_root(tree));
  int32_t n_leaves = 1;
  while (!open.empty() && n_leaves < options_.max_leaf_nodes) {
    OpenNode parent = open.top();
    open.pop();
    const Split& split = parent.split;
    const int64_t middle = partition_.split(
        parent.begin, parent.end, {split.feature, split.bin, split.missing_left}, n_threads_);
    // Where weights are not numbers of rows, a split may turn out to leave a child too few. The
    // gain it promised was too high; the node goes back with the best split that has enough.
    if (!parent.rows_counted &&
        std::min(middle - parent.begin, parent.end - middle) < options_.rules.min_samples_leaf) {
      partition_.undo_split(parent.begin, middle, parent.end);
      parent.rows_counted = true;
      offer(parent);
      continue;
    }
    auto [left, right] = make_children(tree, parent, middle);
    if (++n_leaves < options_.max_leaf_nodes) {
      share_histogram(parent, left, right);
    } else {
      free_histograms_.push_back(parent.histogram);
    }
    offer(left);
    offer(right);
  }
  for (; !open.empty(); open.pop()) close(open.top());
}

// Sums the real gradients of each leaf, in blocks of a fixed size so that the order of the
// additions is the same for any number of threads, and sets the Newton step as the node's answer.
void TreeGrower::fill_leaves(Tree& tree, const float* gradients, const float* hessians) {
  struct Block {
    const Leaf* leaf;
    int64_t begin, end;
    double gradient, hessian;
  };
  std::vector<Block> blocks;
  for (const Leaf& leaf : leaves_) {
    for (int64_t begin = leaf.begin; begin < leaf.end; begin += kLeafBlock) {
      blocks.push_back({&leaf, begin, std::min(leaf.end, begin + kLeafBlock), 0.0, 0.0});
    }
  }
  leaf_of_row_.resize(binned_->n_rows);
  const int32_t* rows = partition_.rows();
  const double cost = kNanosecondsPerRow * static_cast<double>(partition_.size()) /
                      static_cast<double>(blocks.size());
  parallel_for(static_cast<int64_t>(blocks.size()), n_threads_, cost, [&](int64_t b) {
    Block& block = blocks[b];
    for (int64_t i = block.begin; i < block.end; ++i) {
      const int32_t row = rows[i];
      leaf_of_row_[row] = block.leaf->node;
      block.gradient += gradients[row];
      block.hessian += hessians ? std::max(hessians[row], 0.0f) : 1.0f;
    }
  });
  std::vector<double> gradient(tree.n_nodes(), 0.0), hessian(tree.n_nodes(), 0.0);
  for (const Block& block : blocks) {
    gradient[block.leaf->node] += block.gradient;
    hessian[block.leaf->node] += block.hessian;
  }
  for (int32_t node = tree.n_nodes() - 1; node >= 0; --node) {
    if (tree.is_leaf(node)) continue;
    const int32_t left = tree.left[node];
    gradient[node] = gradient[left] + gradient[left + 1];
    hessian[node] = hessian[left] + hessian[left + 1];
  }
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  for (int32_t node = 0; node < tree.n_nodes(); ++node) {
    tree.value[node] =
        node_answer(gradient[node], hessian[node], options_.rules.l2, -kUnbounded, kUnbounded);
  }
  for (const Leaf& leaf : leaves_) {
    tree.value[leaf.node] = std::clamp(tree.value[leaf.node], leaf.lower, leaf.upper);
  }
}

Tree TreeGrower::grow(const float* gradients, const float* hessians, const int32_t* rows,
                      int64_t n_rows, uint64_t seed) {
  const float* split_hessians = options_.least_squares_splits ? nullptr : hessians;
  pack_gradients(gradients, split_hessians, binned_->n_rows, seed, n_threads_, packed_);
  samples_all_rows_ = rows == nullptr;
  partition_.reset(rows, samples_all_rows_ ? binned_->n_rows : n_rows);
  leaves_.clear();
  std::vector<int32_t> all(layout_.n_features());
  std::iota(all.begin(), all.end(), 0);
  tree_features_ = draw_features(all, options_.max_features_tree, seed, 0);

  Tree tree;
  if (options_.growth == Growth::kOblivious) {
    grow_oblivious(tree, seed);
  } else {
    grow_node_by_node(tree, seed);
  }
  fill_leaves(tree, gradients, hessians);
  if (!samples_all_rows_) {
    const std::vector<int32_t> leaves = apply_tree(tree, *binned_, n_threads_);
    std::copy(leaves.begin(), leaves.end(), leaf_of_row_.begin());  // which stays where it is
  }
  return tree;
}

std::vector<int32_t> apply_tree(const Tree& tree, const BinnedMatrix& binned, int n_threads) {
  RowPartition partition(binned);
  partition.reset(nullptr, binned.n_rows);
  std::vector<int32_t> leaves(binned.n_rows);
  std::vector<std::pair<int64_t, int64_t>> range(tree.n_nodes());
  range[0] = {0, binned.n_rows};
  for (int32_t node = 0; node < tree.n_nodes(); ++node) {
    const auto [begin, end] = range[node];
    if (tree.is_leaf(node)) {
      for (int64_t i = begin; i < end; ++i) leaves[partition.rows()[i]] = node;
      continue;
    }
    const int32_t f = tree.feature[node];
    const Bins& bins = *binned.bins;
    const auto first = bins.cuts.begin() + bins.offsets[f];
    const auto last = bins.cuts.begin() + bins.offsets[f + 1];
    const auto cut = std::lower_bound(first, last, tree.threshold[node]);
    const CodeRule rule{f, static_cast<int32_t>(cut - first), tree.missing_left[node] != 0};
    const int64_t middle = partition.split(begin, end, rule, n_threads);
    range[tree.left[node]] = {begin, middle};
    range[tree.left[node] + 1] = {middle, end};
  }
  return leaves;
}

}  // namespace rankgrove
