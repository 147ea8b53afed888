#include "trees/tree_grower.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "common/parallel.hpp"
#include "trees/open_node.hpp"

namespace rankgrove {
namespace {

// Of a node: the fewer of its rows are so much quicker to add up than those of less Hessian, which
// may be more, that finding out which they are pays for another message.
constexpr int64_t kRowsWorthAMessage = int64_t{1} << 17;

// Least squares are those of the gradients: l2 belongs to the Hessians, and so to leaf values
// alone.
SplitRules split_rules(const GrowOptions& options) {
  SplitRules rules = options.rules;
  if (options.least_squares_splits) rules.l2 = 0.0;
  return rules;
}

}  // namespace

// The rows of a node parted by its split.
struct TreeGrower::Parting {
  int64_t middle;      // where this worker's right rows begin
  int64_t left_rows;   // of all workers
  bool left_smaller;   // which child has the histogram
  int64_t* histogram;  // null if none was wanted
  Unbuilt unbuilt;
};

TreeGrower::TreeGrower(std::shared_ptr<const BinnedMatrix> binned, GrowOptions options,
                       RowShare share, int n_threads)
    : binned_(std::move(binned)),
      options_(std::move(options)),
      share_(std::move(share)),
      n_threads_(n_threads),
      layout_(*binned_->bins),
      store_(*binned_, layout_, n_threads),
      search_(layout_, *binned_->bins, split_rules(options_)),
      partition_(*binned_) {}

int64_t* TreeGrower::new_histogram() {
  if (free_histograms_.empty()) {
    histograms_.push_back(std::make_unique_for_overwrite<int64_t[]>(layout_.size() + 1));
    return histograms_.back().get();
  }
  int64_t* histogram = free_histograms_.back();
  free_histograms_.pop_back();
  return histogram;
}

// The sums of a node: those of the bins of any feature.
int64_t TreeGrower::histogram_total(const int64_t* histogram) const {
  return std::accumulate(histogram, histogram + layout_.start[1], int64_t{0});
}

float TreeGrower::threshold(int32_t feature, int32_t bin) const {
  return bin + 1 < layout_.n_bins[feature] ? binned_->bins->cut(feature, bin)
                                           : std::numeric_limits<float>::infinity();
}

bool TreeGrower::may_split(int32_t depth, int64_t n_rows) const {
  return (options_.max_depth == 0 || depth < options_.max_depth) &&
         n_rows >= 2 * options_.rules.min_samples_leaf && n_rows >= 2;
}

TreeGrower::OpenNode TreeGrower::make_root(Tree& tree) {
  OpenNode root{tree.add_leaf(0.0, 0), 0, 0, partition_.size(), packed_.n_sampled, {}, nullptr, {}};
  if (may_split(0, root.n_rows) && options_.max_leaf_nodes > 1) {
    root.histogram = new_histogram();
    build_histogram(root.begin, root.end, root.histogram);
    share_.sum(root.histogram, layout_.size());
    root.sums.total = histogram_total(root.histogram);
  }
  return root;
}

// Parts the rows of a node and finds the smaller child's histogram, or leaves that to the search
// for splits. One worker counts rows first, and saves a histogram that nobody needs. Several do so
// where rows are many; else they take the child of less Hessian, which all of them know already,
// and send the number of rows along with its histogram.
TreeGrower::Parting TreeGrower::part(const OpenNode& parent, bool last_leaf) {
  const Split& split = parent.split;
  const CodeRule rule{split.feature, split.bin, split.missing_left};
  Parting parting{
      partition_.split(parent.begin, parent.end, rule, n_threads_), 0, false, nullptr, {}};
  parting.left_rows = parting.middle - parent.begin;
  bool wanted = !last_leaf && may_split(parent.depth + 1, parent.n_rows);
  const bool count_first = !wanted || share_.alone() || parent.n_rows >= kRowsWorthAMessage;
  if (count_first) {
    share_.sum(&parting.left_rows, 1);
    const int64_t right_rows = parent.n_rows - parting.left_rows;
    const auto [fewer, more] = std::minmax(parting.left_rows, right_rows);
    parting.left_smaller = parting.left_rows <= right_rows;
    wanted = wanted && may_split(parent.depth + 1, more) &&
             (parent.rows_counted || fewer >= options_.rules.min_samples_leaf);
  } else {
    parting.left_smaller =
        2 * int64_t{hessian_field(split.left)} <= hessian_field(parent.sums.total);
  }
  if (!wanted) return parting;
  parting.histogram = new_histogram();
  const int64_t begin = parting.left_smaller ? parent.begin : parting.middle;
  const int64_t end = parting.left_smaller ? parting.middle : parent.end;
  if (share_.alone() && store_.by_groups()) {
    parting.unbuilt = {begin, end, parting.histogram};
    return parting;
  }
  build_histogram(begin, end, parting.histogram);
  parting.histogram[layout_.size()] = parting.left_rows;
  share_.sum(parting.histogram, layout_.size() + (count_first ? 0 : 1));
  parting.left_rows = parting.histogram[layout_.size()];
  return parting;
}

// The children of a node whose rows have been parted, as leaves of the tree.
std::pair<TreeGrower::OpenNode, TreeGrower::OpenNode> TreeGrower::make_children(
    Tree& tree, const OpenNode& parent, const Parting& parting) const {
  const Split& split = parent.split;
  OpenNode left{
      -1, parent.depth + 1, parent.begin, parting.middle, parting.left_rows, parent.sums, nullptr,
      {}};
  OpenNode right{-1,
                 parent.depth + 1,
                 parting.middle,
                 parent.end,
                 parent.n_rows - parting.left_rows,
                 parent.sums,
                 nullptr,
                 {}};
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
  left.node = tree.add_leaf(0.0, 0);
  right.node = tree.add_leaf(0.0, 0);
  tree.split_leaf(parent.node, split.feature, threshold(split.feature, split.bin),
                  split.missing_left, split.gain, left.node);
  return {left, right};
}

// Gives histograms to those children that may be split, if any: the smaller child has one, the
// larger one's is to be what is left of the parent, whose histogram goes.
TreeGrower::Remainder TreeGrower::share_histogram(const OpenNode& parent, const Parting& parting,
                                                  OpenNode& left, OpenNode& right) {
  OpenNode& smaller = parting.left_smaller ? left : right;
  OpenNode& larger = parting.left_smaller ? right : left;
  smaller.histogram = parting.histogram;
  larger.histogram = parent.histogram;
  Remainder remainder;
  if (parting.histogram && may_split(larger.depth, larger.n_rows)) {
    remainder = {parent.histogram, parting.histogram};
  }
  for (OpenNode* child : {&left, &right}) {
    if (parting.histogram && may_split(child->depth, child->n_rows)) continue;
    if (child->histogram) free_histograms_.push_back(child->histogram);
    child->histogram = nullptr;
  }
  return remainder;
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
  const auto offer = [&](const OpenNode& node) {
    if (node.split.found()) {
      open.push(node);
    } else {
      close(node);
    }
  };

  OpenNode root = make_root(tree);
  find_splits({&root}, {}, {}, seed);
  offer(root);
  int32_t n_leaves = 1;
  while (!open.empty() && n_leaves < options_.max_leaf_nodes) {
    OpenNode parent = open.top();
    open.pop();
    const Parting parting = part(parent, n_leaves + 1 == options_.max_leaf_nodes);
    // Where weights are not numbers of rows, a split may turn out to leave a child too few. The
    // gain it promised was too high; the node goes back with the best split that has enough.
    if (!parent.rows_counted && std::min(parting.left_rows, parent.n_rows - parting.left_rows) <
                                    options_.rules.min_samples_leaf) {
      if (parting.histogram) free_histograms_.push_back(parting.histogram);
      partition_.undo_split(parent.begin, parting.middle, parent.end);
      parent.rows_counted = true;
      parent.split = {};
      find_splits({&parent}, {}, {}, seed);
      offer(parent);
      continue;
    }
    ++n_leaves;
    auto [left, right] = make_children(tree, parent, parting);
    const Remainder remainder = share_histogram(parent, parting, left, right);
    find_splits({&left, &right}, parting.unbuilt, remainder, seed);
    offer(left);
    offer(right);
  }
  for (; !open.empty(); open.pop()) close(open.top());
}

Tree TreeGrower::grow(const float* gradients, const float* hessians, const int32_t* rows,
                      int64_t n_rows, uint64_t seed) {
  samples_all_rows_ = rows == nullptr;
  if (samples_all_rows_) n_rows = binned_->n_rows;
  const ThreadPool::Watch watch(paid_threads(n_threads_, tree_nanoseconds(n_rows)));
  const GradientOptions packing{options_.least_squares_splits, n_rows, seed, n_threads_};
  pack_gradients(gradients, hessians, binned_->n_rows, share_, packing, packed_);
  leaf_of_row_.resize(binned_->n_rows);
  partition_.reset(rows, n_rows, leaf_of_row_.data());
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
  binned_->release();
  return tree;
}

std::vector<int32_t> apply_tree(const Tree& tree, const BinnedMatrix& binned, int n_threads) {
  RowPartition partition(binned);
  std::vector<int32_t> leaves(binned.n_rows);
  partition.reset(nullptr, binned.n_rows, leaves.data());
  std::vector<std::pair<int64_t, int64_t>> range(tree.n_nodes());
  range[0] = {0, binned.n_rows};
  for (int32_t node = 0; node < tree.n_nodes(); ++node) {
    if (tree.is_leaf(node)) continue;
    const auto [begin, end] = range[node];
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
  for (int32_t node = 0; node < tree.n_nodes(); ++node) {
    if (!tree.is_leaf(node)) continue;
    for (int64_t i = range[node].first; i < range[node].second; ++i) {
      leaves[partition.rows()[i]] = node;
    }
  }
  binned.release();
  return leaves;
}

}  // namespace rankgrove
