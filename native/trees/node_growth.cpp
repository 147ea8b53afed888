#include "trees/node_growth.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace rankgrove {
namespace {

// From this many rows on, an extra all-reduce to find the child with fewer rows is cheaper than
// building the histogram of the one with less Hessian.
constexpr int64_t kRowsForExtraMessage = int64_t{1} << 17;

}  // namespace

// The rows of a node, partitioned by its split.
struct NodeGrowth::Partition {
  int64_t middle;                         // where this worker's right rows begin
  int64_t left_rows;                      // of all workers
  bool left_smaller = false;              // which child the histogram belongs to
  int64_t* histogram = nullptr;           // of the smaller child; null if none is wanted
  bool by_rows = false;                   // both children are searched without a histogram
  std::vector<PendingHistogram> pending;  // those of the children that are yet to be built
};

bool NodeGrowth::may_split(int32_t depth, int64_t n_rows) const {
  const GrowOptions& options = state_.options;
  return (options.max_depth == 0 || depth < options.max_depth) &&
         n_rows >= 2 * options.rules.min_samples_leaf && n_rows >= 2;
}

OpenNode NodeGrowth::make_root(Tree& tree) {
  OpenNode root{.node = tree.add_leaf(0.0, 0),
                .depth = 0,
                .begin = 0,
                .end = state_.partition.size(),
                .n_rows = state_.packed.n_sampled};
  start_noise(root);
  if (may_split(0, root.n_rows) && state_.options.max_leaf_nodes > 1) {
    root.histogram = histograms_.acquire();
    histograms_.build(root.begin, root.end, root.histogram);
    root.sums.total = histograms_.total(root.histogram);
    histograms_.sum_over_workers(root.histogram, &root.sums.total.gradient, 2);
    root.sums.n_rows = root.n_rows;
  }
  return root;
}

// With noise, any split of a feature may be preferred, so the rows of all splits have to be
// counted. Rows of splits into three are counted, too: such a split is made in two steps, of which
// only the first could be undone.
void NodeGrowth::start_noise(OpenNode& node) const {
  const SplitRules& rules = state_.options.rules;
  node.sums.noise = state_.noise.of_node(node.node);
  node.rows_counted = (node.sums.noise || rules.missing_branch) && rules.min_samples_leaf > 1 &&
                      !state_.packed.counts_rows;
}

// Partitions the rows of a node and builds the histogram of the smaller child, or leaves that to
// the search for splits. A single worker counts rows first, and builds no histogram that is not
// needed. Several workers do so if there are many rows; otherwise they take the child with less
// Hessian, which all of them know already, and send the number of rows together with its histogram.
NodeGrowth::Partition NodeGrowth::partition_rows(const OpenNode& parent, bool last_leaf) {
  const Split& split = parent.split;
  Partition partition{
      .middle = state_.partition.split(parent.begin, parent.end, split.rule, state_.n_threads)};
  partition.left_rows = partition.middle - parent.begin;
  bool wanted = !last_leaf && may_split(parent.depth + 1, parent.n_rows);
  const bool count_first = !wanted || state_.share.alone() || parent.n_rows >= kRowsForExtraMessage;
  if (count_first) {
    state_.share.sum(&partition.left_rows, 1);
    const int64_t right_rows = parent.n_rows - partition.left_rows;
    partition.left_smaller = partition.left_rows <= right_rows;
    wanted = wanted && may_split(parent.depth + 1, std::max(partition.left_rows, right_rows)) &&
             has_enough_rows(parent, partition);
  } else {
    partition.left_smaller = 2 * split.left.hessian <= parent.sums.total.hessian;
  }
  if (!wanted) return partition;
  partition.by_rows =
      node_search_.takes_rows(std::max(partition.left_rows, parent.n_rows - partition.left_rows));
  if (partition.by_rows) return partition;
  partition.histogram = histograms_.acquire();
  const int64_t begin = partition.left_smaller ? parent.begin : partition.middle;
  const int64_t end = partition.left_smaller ? partition.middle : parent.end;
  if (state_.share.alone() && histograms_.can_build_by_feature()) {
    partition.pending.push_back({begin, end, partition.histogram});
    return partition;
  }
  histograms_.build(begin, end, partition.histogram);
  histograms_.sum_over_workers(partition.histogram, &partition.left_rows, count_first ? 0 : 1);
  return partition;
}

// If the Hessian field does not count rows, a split may leave a child with too few rows.
bool NodeGrowth::has_enough_rows(const OpenNode& parent, const Partition& partition) const {
  const int64_t right_rows = parent.n_rows - partition.left_rows;
  return parent.rows_counted ||
         std::min(partition.left_rows, right_rows) >= state_.options.rules.min_samples_leaf;
}

// Undoes a partition and searches the node again, for splits whose children have enough rows.
void NodeGrowth::search_again(OpenNode& parent, const Partition& partition) {
  histograms_.release(partition.histogram);
  state_.partition.undo_split(parent.begin, partition.middle, parent.end);
  parent.rows_counted = true;
  parent.split = {};
  if (!parent.histogram && !parent.by_rows) {
    parent.histogram = histograms_.acquire();
    histograms_.build(parent.begin, parent.end, parent.histogram);
  }
  node_search_.find_splits({&parent}, {}, {});
  drop_small_histogram(parent);
}

void NodeGrowth::drop_small_histogram(OpenNode& node) {
  if (!histograms_.keeps(node.n_rows)) histograms_.release(std::exchange(node.histogram, nullptr));
}

// The children of a node whose rows have been partitioned, as leaves of the tree.
std::pair<OpenNode, OpenNode> NodeGrowth::make_children(Tree& tree, const OpenNode& parent,
                                                        const Partition& partition) const {
  const auto& [gain, rule, left_total, preference, branch, values] = parent.split;
  OpenNode left{.node = tree.add_leaf(0.0, 0),
                .depth = parent.depth + 1,
                .begin = parent.begin,
                .end = partition.middle,
                .n_rows = partition.left_rows,
                .sums = parent.sums};
  OpenNode right{.node = tree.add_leaf(0.0, 0),
                 .depth = parent.depth + 1,
                 .begin = partition.middle,
                 .end = parent.end,
                 .n_rows = parent.n_rows - partition.left_rows,
                 .sums = parent.sums};
  start_noise(left);
  start_noise(right);
  left.sums.total = left_total;
  right.sums.total = parent.sums.total - left_total;
  left.sums.n_rows = left.n_rows;
  right.sums.n_rows = right.n_rows;
  bound_children(parent, left.sums, right.sums);
  tree.split_leaf(parent.node, rule.feature, state_.threshold(rule), rule.missing_left, gain,
                  left.node);
  if (!state_.interactions.empty()) {
    state_.interactions.split(parent.node, rule.feature, left.node);
  }
  if (rule.categories) {
    tree.categories.assign(parent.node, tree.categories.add(*rule.categories), tree.n_nodes());
  }
  return {left, right};
}

// With a monotone constraint, the mean of the children's values is the limit of both subtrees.
void NodeGrowth::bound_children(const OpenNode& parent, NodeSums& left, NodeSums& right) const {
  const SplitRules& rules = search_.rules();
  const int direction = rules.monotone.empty() ? 0 : rules.monotone[parent.split.rule.feature];
  if (direction == 0) return;
  const auto answer = [&](const GradientSums& sums) {
    return node_answer(static_cast<double>(sums.gradient) * state_.packed.gradient_unit,
                       static_cast<double>(sums.hessian) * state_.packed.hessian_unit, rules,
                       parent.sums.lower, parent.sums.upper);
  };
  const double between = 0.5 * (answer(left.total) + answer(right.total));
  (direction > 0 ? left.upper : left.lower) = between;
  (direction > 0 ? right.lower : right.upper) = between;
}

// Gives histograms to the children that may be split, unless they are searched by their rows. The
// smaller child has one. That of the larger child is the difference to the parent, whose histogram
// it takes over.
PendingSubtraction NodeGrowth::assign_histograms(const OpenNode& parent, Partition& partition,
                                                 OpenNode& left, OpenNode& right) {
  if (partition.by_rows) {
    histograms_.release(parent.histogram);
    for (OpenNode* child : {&left, &right}) child->by_rows = may_split(child->depth, child->n_rows);
    return {};
  }
  OpenNode& smaller = partition.left_smaller ? left : right;
  OpenNode& larger = partition.left_smaller ? right : left;
  smaller.histogram = partition.histogram;
  larger.histogram = parent.histogram;
  PendingSubtraction subtraction;
  if (partition.histogram && may_split(larger.depth, larger.n_rows)) {
    if (parent.histogram) {
      subtraction = {parent.histogram, partition.histogram};
    } else {
      if (!may_split(smaller.depth, smaller.n_rows)) partition.pending.clear();
      larger.histogram = histograms_.acquire();
      partition.pending.push_back({larger.begin, larger.end, larger.histogram});
    }
  }
  for (OpenNode* child : {&left, &right}) {
    if (partition.histogram && may_split(child->depth, child->n_rows)) continue;
    histograms_.release(child->histogram);
    child->histogram = nullptr;
  }
  return subtraction;
}

std::vector<GrownLeaf> NodeGrowth::grow(Tree& tree) {
  const GrowOptions& options = state_.options;
  const bool leaf_wise = options.growth == Growth::kLeafWise;
  // The next node to split is at the top.
  const auto later = [&](const OpenNode& a, const OpenNode& b) {
    if (leaf_wise && a.split.gain != b.split.gain) return a.split.gain < b.split.gain;
    return a.node > b.node;
  };
  std::priority_queue<OpenNode, std::vector<OpenNode>, decltype(later)> open(later);
  std::vector<GrownLeaf> leaves;
  const auto close = [&](const OpenNode& node) {
    leaves.push_back({node.node, node.begin, node.end, node.sums.lower, node.sums.upper});
    histograms_.release(node.histogram);
  };
  const auto offer = [&](const OpenNode& node) {
    if (node.split.found()) {
      open.push(node);
    } else {
      close(node);
    }
  };

  OpenNode root = make_root(tree);
  node_search_.find_splits({&root}, {}, {});
  offer(root);
  int32_t n_leaves = 1;
  while (!open.empty() && n_leaves < options.max_leaf_nodes) {
    OpenNode parent = open.top();
    open.pop();
    const bool branch = parent.split.branch;
    if (branch && n_leaves + 2 > options.max_leaf_nodes) {
      close(parent);
      continue;
    }
    const Split values_split = branch ? part_missing(parent) : Split{};
    Partition partition = partition_rows(parent, n_leaves + 1 + branch == options.max_leaf_nodes);
    // The expected gain of this split was too high; the node goes back to the queue.
    if (!has_enough_rows(parent, partition)) {
      search_again(parent, partition);
      offer(parent);
      continue;
    }
    ++n_leaves;
    auto [left, right] = split_rows(tree, parent, partition, branch);
    if (branch) {
      left.split = values_split;
      left.decided = false;
      partition = partition_rows(left, ++n_leaves == options.max_leaf_nodes);
      const auto [below, above] = split_rows(tree, left, partition, false);
      offer(below);
      offer(above);
    } else {
      offer(left);
    }
    offer(right);
  }
  for (; !open.empty(); open.pop()) close(open.top());
  return leaves;
}

// A split into three is stored as two binary splits on the same feature: the first separates
// missing values, the second compares the others. Makes the first one, with the gain of both, and
// returns the second.
Split NodeGrowth::part_missing(OpenNode& node) const {
  Split of_values = node.split;
  of_values.gain = 0.0;
  of_values.branch = false;
  const int32_t feature = of_values.rule.feature;
  node.split.rule.bin = state_.layout.n_bins[feature] - 1;
  node.split.left = node.split.values;
  node.split.branch = false;
  return of_values;
}

// Makes the children of a node and searches their splits. If the split of the left child is known,
// the child does not count as a level.
std::pair<OpenNode, OpenNode> NodeGrowth::split_rows(Tree& tree, const OpenNode& parent,
                                                     Partition& partition, bool left_decided) {
  auto children = make_children(tree, parent, partition);
  auto& [left, right] = children;
  if (left_decided) {
    left.depth = parent.depth;
    left.decided = true;
  }
  const PendingSubtraction subtraction = assign_histograms(parent, partition, left, right);
  node_search_.find_splits({&left, &right}, partition.pending, subtraction);
  drop_small_histogram(left);
  drop_small_histogram(right);
  return children;
}

}  // namespace rankgrove
