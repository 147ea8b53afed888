#include "forests/growing/forest_tree.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "common/category_bits.hpp"
#include "forests/growing/fallback_splitter.hpp"
#include "forests/growing/found_split.hpp"
#include "forests/growing/growing_tree.hpp"
#include "forests/growing/node_queue.hpp"
#include "forests/growing/small_trees.hpp"
#include "forests/listwise/block_gains.hpp"
#include "forests/listwise/candidate_gains.hpp"
#include "forests/listwise/function_gains.hpp"
#include "forests/listwise/leaf_table.hpp"
#include "forests/listwise/listwise_splitter.hpp"
#include "forests/nodes/node_splitter.hpp"
#include "forests/nodes/stable_partition.hpp"
#include "forests/pointwise/make_splitter.hpp"

namespace rankgrove::forests {
namespace {

template <typename Code>
class ForestTreeGrower {
 public:
  ForestTreeGrower(const ForestData& data, const ForestOptions& options, SampledRows drawn,
                   uint64_t seed, const CriterionTable& table, const Heartbeat& heartbeat,
                   GrowingTree& tree)
      : data_(data),
        options_(options),
        rows_(std::move(drawn.rows)),
        times_(std::move(drawn.times)),
        seed_(seed),
        table_(table),
        heartbeat_(heartbeat),
        partition_(rows_.size()),
        class_counts_(data.targets.n_classes()),
        tree_(tree) {
    tree_.clear();
    if (!data.targets.has_classes()) return;
    labels_.reserve(rows_.size());
    for (const int32_t row : rows_) labels_.push_back(data.targets.label[row]);
  }

  Tree grow() {
    WaitingNode root{0, 0, 0, static_cast<int64_t>(rows_.size()), 0.0, mix64(seed_)};
    if (few_classes()) count_classes(root);
    const bool pure = summarise(root);
    n_documents_ = root.n_documents;
    sample_weight_ = weight_of(root);
    tree_.add_leaf(root, pure);
    std::vector<WaitingNode> waiting;
    if (!pure) waiting.push_back(root);
    if (options_.listwise_levels > 0) waiting = grow_listwise(waiting);
    return grow_pointwise(waiting);
  }

  // Splits a node of a larger tree and all below it; `gains` are those of the splits, by node.
  void grow_below(const SubTreeRoot& place, NodeOrder order, std::vector<double>& gains) {
    WaitingNode root{0, place.depth, 0, static_cast<int64_t>(rows_.size()), 0.0, place.key};
    if (few_classes()) count_classes(root);
    const bool pure = summarise(root);
    n_documents_ = place.tree_documents;
    sample_weight_ = place.tree_weight;
    tree_.add_leaf(root, pure);
    std::vector<WaitingNode> waiting;
    if (!pure) waiting.push_back(root);
    split_all(
        waiting, order, *pointwise_splitter(), false,
        [&](const FoundSplit& found) {
          gains.resize(tree_.n_nodes());
          gains[found.node.node] = found.split.gain;
        },
        [](const WaitingNode&) { return true; });
    gains.resize(tree_.n_nodes());
  }

 private:
  // Splits the upper levels; returns the leaves of the level below, which are left to pointwise
  // splits.
  std::vector<WaitingNode> grow_listwise(const std::vector<WaitingNode>& roots) {
    switch (data_.targets.metric.kind) {
      case MetricKind::kAveragePrecision:
        return split_listwise<BlockGains<Code, AveragePrecisionBlocks>>(roots);
      case MetricKind::kReciprocalRank:
        return split_listwise<BlockGains<Code, ReciprocalRankBlocks>>(roots);
      case MetricKind::kExpectedReciprocalRank:
        return split_listwise<BlockGains<Code, ExpectedReciprocalRankBlocks>>(roots);
      case MetricKind::kFunction:
        return split_listwise<FunctionGains<Code>>(roots);
      case MetricKind::kPosition:
        break;
    }
    return split_listwise<CandidateGains<Code>>(roots);
  }

  // If there is a level below, nodes without a listwise gain may be split pointwise as well: their
  // children may gain again.
  template <typename Gains>
  std::vector<WaitingNode> split_listwise(const std::vector<WaitingNode>& roots) {
    typename Gains::Table leaves(data_.features.offsets, data_.targets.metric);
    const double total_weight = start_queries(leaves);
    std::unique_ptr<NodeSplitter<Code>> splitter =
        std::make_unique<ListwiseSplitter<Code, Gains>>(data_, options_, leaves, total_weight);
    if (options_.listwise_levels != kUnlimited && options_.fallback) {
      splitter =
          std::make_unique<FallbackSplitter<Code>>(std::move(splitter), pointwise_splitter());
    }
    std::vector<WaitingNode> deeper;
    split_all(
        roots, options_.order, *splitter, true,
        [&](const FoundSplit& found) {
          move_documents(leaves, found.node.value, found.left, found.right);
        },
        [&](const WaitingNode& child) {
          const bool listwise = child.depth < options_.listwise_levels;
          if (!listwise) deeper.push_back(child);
          return listwise;
        });
    return deeper;
  }

  // Puts all documents into the root; returns the weight of all queries of the sample.
  template <typename Table>
  double start_queries(Table& leaves) const {
    double total_weight = 0;
    for (size_t i = 0; i < rows_.size();) {
      const int32_t query = data_.features.query_of_row[rows_[i]];
      leaves.start_query(query, tree_[0].value, subset_of(leaves, query, i, rows_.size()));
      total_weight += data_.targets.metric.weight[query];
    }
    return total_weight;
  }

  // Documents of a query among rows i .. end - 1, if they come first there; i moves behind them.
  template <typename Table, typename Index>
  auto subset_of(const Table& leaves, int32_t query, Index& i, Index end) const {
    const Index begin = i;
    while (i < end && data_.features.query_of_row[rows_[i]] == query) ++i;
    return leaves.subset(rows_.data() + begin, static_cast<int64_t>(i - begin));
  }

  template <typename Table>
  void move_documents(Table& leaves, double score, const WaitingNode& left,
                      const WaitingNode& right) const {
    int64_t i = left.begin;
    int64_t j = right.begin;
    while (i < left.end || j < right.end) {
      const int32_t next_left = i < left.end ? rows_[i] : kUnlimited;
      const int32_t next_right = j < right.end ? rows_[j] : kUnlimited;
      const int32_t query = data_.features.query_of_row[std::min(next_left, next_right)];
      const auto on_left = subset_of(leaves, query, i, left.end);
      const auto on_right = subset_of(leaves, query, j, right.end);
      leaves.split(query, score, left.value, on_left, right.value, on_right);
    }
  }

  // A pointwise tree does not depend on the order of its splits. Going deep first keeps the rows of
  // a sub-tree in the cache; the nodes are numbered in the wanted order afterwards.
  Tree grow_pointwise(const std::vector<WaitingNode>& roots) {
    const auto splitter = pointwise_splitter();
    const NodeOrder order = options_.order;
    const bool as_ordered = splits_as_ordered(options_);
    const NodeOrder order_of_splits = as_ordered ? order : NodeOrder::kDepthFirst;
    const int32_t n_before = tree_.n_nodes();
    std::unique_ptr<SmallTrees<Code>> small;
    if (options_.max_leaf_nodes == kUnlimited && order_of_splits == NodeOrder::kDepthFirst &&
        times_.empty() && SmallTrees<Code>::fit(data_, *splitter)) {
      small = std::make_unique<SmallTrees<Code>>(data_, options_, sample_weight_, *splitter,
                                                 n_documents_, tree_);
    }
    split_all(
        roots, order_of_splits, *splitter, false, [](const FoundSplit&) {},
        [](const WaitingNode&) { return true; }, small.get());
    return as_ordered ? tree_.flat() : tree_.numbered(new_queue(order), roots, n_before);
  }

  // Splits leaves in some order, and their children that are not pure if wanted(child), until no
  // split is found or there are enough leaves. on_split(found) is called after each split, but for
  // the nodes that are left to `small`.
  template <typename OnSplit, typename Wanted>
  void split_all(const std::vector<WaitingNode>& roots, NodeOrder order,
                 NodeSplitter<Code>& splitter, bool gains_change, OnSplit&& on_split,
                 Wanted&& wanted, SmallTrees<Code>* small = nullptr) {
    if (order == NodeOrder::kBestFirst) {
      split_best_first(roots, splitter, gains_change, on_split, wanted);
      return;
    }
    NodeQueue queue = new_queue(order);
    queue.push_all(roots);
    while (!queue.empty() && may_grow()) {
      const WaitingNode node = queue.pop();
      if (small && node.n_rows() <= small->most_documents()) {
        heartbeat_();
        small->grow(node, rows_.data() + node.begin, labels_.data() + node.begin);
        continue;
      }
      FoundSplit found;
      if (!find_split(node, splitter, found) || !fits(found)) continue;
      queue.push_all(split(found, on_split, wanted));
    }
  }

  // The split of a leaf is searched once, when the leaf is made. If gains change as other leaves
  // are split, it is searched again before it is made. If they do not, a leaf need not be searched
  // for splits that gain less than as many others as there can still be leaves.
  template <typename OnSplit, typename Wanted>
  void split_best_first(const std::vector<WaitingNode>& roots, NodeSplitter<Code>& splitter,
                        bool gains_change, OnSplit&& on_split, Wanted&& wanted) {
    const bool bounded = !gains_change && !options_.missing_branch;
    SplitQueue queue(bounded ? options_.max_leaf_nodes - tree_.n_leaves() : kUnlimited);
    const auto open = [&](const std::vector<WaitingNode>& nodes) {
      for (const WaitingNode& node : nodes) {
        if (!may_grow()) return;
        if (find_split(node, splitter, queue.next(), queue.least_gain())) queue.push();
      }
    };
    open(roots);
    while (!queue.empty() && may_grow()) {
      FoundSplit& found = queue.pop();
      if (!fits(found)) continue;
      if (gains_change && found.n_nodes != tree_.n_nodes()) {
        restore_order(found.node);
        if (!find_split(found.node, splitter, found)) continue;
      }
      open(split(found, on_split, wanted));
    }
  }

  bool may_grow() const { return tree_.n_leaves() < options_.max_leaf_nodes; }
  // A third child is a leaf more.
  bool fits(const FoundSplit& found) const {
    return !found.split.branch || tree_.n_leaves() + 1 < options_.max_leaf_nodes;
  }

  // Searches the split of a leaf and sorts its rows by it; tells whether there is one. One that
  // gains less than `least_gain` may be left out.
  bool find_split(const WaitingNode node, NodeSplitter<Code>& splitter, FoundSplit& found,
                  double least_gain = 0) {
    heartbeat_();
    if (node.n_documents < options_.min_samples_split || node.depth >= options_.max_depth ||
        node.n_documents < 2 * options_.min_samples_leaf) {
      return false;
    }
    Random random(node.key);
    NodeRows documents = documents_of(node);
    documents.least_gain = least_gain;
    found.split = splitter.find(documents, node, random);
    if (!found.split.found()) return false;
    const Code* codes = splitter.split_codes();
    found.some_missing = has_missing(found.split.feature, codes, node.n_rows());
    found.categories.reset();
    WaitingNode parted = node;
    if (data_.features.binned->bins->is_categorical(found.split.feature)) {
      codes = list_categories(splitter, node.n_rows(), found);
    } else if (found.split.branch) {
      part_missing(node, found, codes);
      parted = found.values;
      codes = value_codes_.data();
    }
    const int64_t middle = partition(parted, found.split, codes);
    const int32_t depth = node.depth + 1;
    WaitingNode left{0, depth, node.begin, middle, 0.0, left_key(node.key)};
    WaitingNode right{0, depth, middle, parted.end, 0.0, right_key(node.key)};
    if (few_classes()) share_class_counts(parted, left, right);
    found.left_pure = summarise(left);
    found.right_pure = summarise(right);
    if (options_.splitter == Splitter::kRandom) {
      found.split.gain = fall_of_squared_error(node, left, right);
      if (found.split.branch) {
        found.split.gain += squared_error_fall(node, found.missing) / sample_weight_;
      }
    }
    found.node = node;
    found.left = left;
    found.right = right;
    found.n_nodes = tree_.n_nodes();
    return true;
  }

  // Lists the categories that go left: those of the child with fewer documents, so that others,
  // which no document of the node has, follow the larger child. Returns the documents' ranks, by
  // which the split, too, is made.
  const Code* list_categories(const NodeSplitter<Code>& splitter, int64_t n, FoundSplit& found) {
    const Code* ranks = splitter.split_codes();
    const std::span<const int32_t> categories = splitter.split_categories();
    const int32_t missing = data_.features.binned->missing_bin(found.split.feature);
    NodeSplit& split = found.split;
    const auto n_left =
        std::count_if(ranks, ranks + n, [&](Code rank) { return split.goes_left(rank, missing); });
    const auto n_categories = static_cast<int32_t>(categories.size());
    const bool flip = 2 * n_left > n;
    if (!flip) {
      found.categories = std::make_shared<const std::vector<uint32_t>>(
          category_words(categories.first(split.bin + 1)));
      return ranks;
    }
    found.categories = std::make_shared<const std::vector<uint32_t>>(
        category_words(categories.subspan(split.bin + 1)));
    split.bin = n_categories - 2 - split.bin;
    split.missing_left = !split.missing_left;
    flipped_.assign(ranks, ranks + n);
    for (Code& rank : flipped_) {
      if (rank != missing) rank = static_cast<Code>(n_categories - 1 - rank);
    }
    return flipped_.data();
  }

  // Puts the documents of a node without a value of the split's feature last: they are its third
  // child. value_codes_ are the codes of the others.
  void part_missing(const WaitingNode& node, FoundSplit& found, const Code* codes) {
    const int32_t missing_bin = data_.features.binned->missing_bin(found.split.feature);
    value_codes_.clear();
    for (int64_t i = 0; i < node.n_rows(); ++i) {
      if (codes[i] < missing_bin) value_codes_.push_back(codes[i]);
    }
    NodeSplit is_missing = found.split;
    is_missing.bin = missing_bin - 1;
    const int64_t middle = partition(node, is_missing, codes);
    const int32_t depth = node.depth + 1;
    found.values = {0, depth, node.begin, middle, 0.0, 0};
    found.missing = {0, depth, middle, node.end, 0.0, mix64(node.key + 2)};
    if (few_classes()) share_class_counts(node, found.values, found.missing);
    summarise(found.values);
    found.missing_pure = summarise(found.missing);
  }

  // A third child is written as two binary splits on one feature: is there a value, and which one.
  // All three children are one level below the node. Both splits are one: the first has its gain.
  void add_missing_child(FoundSplit& found) {
    found.values.node = tree_.n_nodes();
    found.missing.node = found.values.node + 1;
    tree_.add_leaf(found.values, false);
    tree_.add_leaf(found.missing, found.missing_pure);
    GrowingNode& parent = tree_[found.node.node];
    parent.feature = found.split.feature;
    parent.threshold = std::numeric_limits<float>::infinity();
    parent.missing_left = false;
    parent.gain = found.split.gain;
    parent.left = found.values.node;
    parent.branch = true;
  }

  // Splits a leaf; returns its children that are to be split, too.
  template <typename OnSplit, typename Wanted>
  const std::vector<WaitingNode>& split(FoundSplit& found, OnSplit&& on_split, Wanted&& wanted) {
    const bool branch = found.split.branch;
    if (branch) add_missing_child(found);
    WaitingNode& left = found.left;
    WaitingNode& right = found.right;
    left.node = tree_.n_nodes();
    right.node = left.node + 1;
    tree_.add_leaf(left, found.left_pure);
    tree_.add_leaf(right, found.right_pure);
    const NodeSplit& split = found.split;
    GrowingNode& parent = tree_[branch ? found.values.node : found.node.node];
    parent.feature = split.feature;
    if (found.categories) {
      parent.set = tree_.add_set(*found.categories);
    } else {
      parent.threshold = split.threshold(*data_.features.binned->bins);
    }
    // Where the node has no missing value, one that comes later follows the heavier child.
    parent.missing_left =
        found.some_missing && !branch ? split.missing_left : weight_of(left) >= weight_of(right);
    parent.gain = branch ? 0.0 : split.gain;
    parent.left = left.node;
    on_split(found);
    children_.clear();
    if (!found.left_pure && wanted(left)) children_.push_back(left);
    if (!found.right_pure && wanted(right)) children_.push_back(right);
    if (branch && !found.missing_pure && wanted(found.missing)) children_.push_back(found.missing);
    return children_;
  }

  // Rows in ascending order, as they were before they were sorted by a split.
  void restore_order(const WaitingNode& node) {
    std::sort(rows_.begin() + node.begin, rows_.begin() + node.end);
    if (labels_.empty()) return;
    for (int64_t i = node.begin; i < node.end; ++i) labels_[i] = data_.targets.label[rows_[i]];
  }

  NodeRows documents_of(const WaitingNode& node) {
    return {rows_.data() + node.begin,
            labels_.empty() ? nullptr : labels_.data() + node.begin,
            node.n_rows(),
            few_classes() ? node.class_counts.data() : counted_classes(node),
            node.n_documents,
            times_.empty() ? nullptr : times_.data()};
  }

  NodeQueue new_queue(NodeOrder order) const { return NodeQueue(order, order_seed(seed_)); }

  std::unique_ptr<NodeSplitter<Code>> pointwise_splitter() const {
    return make_pointwise_splitter<Code>(data_, options_, table_, n_documents_, sample_weight_);
  }

  double weight_of(const WaitingNode& node) const {
    return data_.targets.weight.empty() ? static_cast<double>(node.n_documents)
                                        : weight_of(node.begin, node.end);
  }
  double weight_of(int64_t begin, int64_t end) const {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += data_.targets.weight[rows_[i]];
    return sum;
  }

  // Whether one of a node's n documents, with these codes of a feature, has no value.
  bool has_missing(int32_t feature, const Code* codes, int64_t n) const {
    if (!data_.features.binned->has_missing(feature)) return false;
    return std::find(codes, codes + n,
                     static_cast<Code>(data_.features.binned->missing_bin(feature))) != codes + n;
  }

  // The gain of a split that was not chosen by gain, for the importance of its feature.
  double fall_of_squared_error(const WaitingNode& node, const WaitingNode& left,
                               const WaitingNode& right) const {
    const double total = squared_error_fall(node, left) + squared_error_fall(node, right);
    return total / sample_weight_;
  }
  double squared_error_fall(const WaitingNode& node, const WaitingNode& child) const {
    const double difference = child.value - node.value;
    return weight_of(child) * difference * difference;
  }

  // Rows that go left first, both sides in their old order; returns where the right side begins.
  int64_t partition(const WaitingNode& node, const NodeSplit& split, const Code* codes) {
    return node.begin +
           partition_.apply(codes, split, data_.features.binned->missing_bin(split.feature),
                            rows_.data() + node.begin,
                            labels_.empty() ? nullptr : labels_.data() + node.begin, node.n_rows());
  }

  // Whether nodes count their documents by class.
  bool counts_classes() const {
    return data_.targets.has_classes() && data_.targets.weight.empty();
  }
  bool few_classes() const { return counts_classes() && data_.targets.n_classes() <= kFewClasses; }

  // Fills the node's counts of few classes.
  void count_classes(WaitingNode& node) const {
    constexpr int64_t kManyDocuments = 64;
    node.class_counts.fill(0);
    if (times_.empty() && node.n_rows() >= kManyDocuments) {
      forests::count_classes(labels_.data() + node.begin, node.n_rows(), data_.targets.n_classes(),
                             node.class_counts.data());
    } else {
      add_classes(node, node.class_counts.data());
    }
  }

  // Counts the smaller child; the other has the rest.
  void share_class_counts(const WaitingNode& node, WaitingNode& left, WaitingNode& right) const {
    const bool left_smaller = left.n_rows() < right.n_rows();
    WaitingNode& counted = left_smaller ? left : right;
    WaitingNode& rest = left_smaller ? right : left;
    count_classes(counted);
    for (int32_t c = 0; c < kFewClasses; ++c) {
      rest.class_counts[c] = node.class_counts[c] - counted.class_counts[c];
    }
  }

  // Counts of any number of classes; null if nodes do not count.
  const uint32_t* counted_classes(const WaitingNode& node) {
    if (!counts_classes()) return nullptr;
    std::fill(class_counts_.begin(), class_counts_.end(), 0);
    add_classes(node, class_counts_.data());
    return class_counts_.data();
  }

  void add_classes(const WaitingNode& node, uint32_t* counts) const {
    for (int64_t i = node.begin; i < node.end; ++i) counts[labels_[i]] += times_of(rows_[i]);
  }

  uint32_t times_of(int32_t row) const { return times_.empty() ? 1 : times_[row]; }

  // Sets the node's number of documents and its value, the mean target; tells whether all targets
  // are equal.
  bool summarise(WaitingNode& node) {
    node.n_documents = node.n_rows();
    if (node.n_rows() == 0) return true;
    if (!counts_classes()) return summarise_targets(node);
    const uint32_t* counts = few_classes() ? node.class_counts.data() : counted_classes(node);
    return data_.targets.summarise(counts, node.n_documents, node.value);
  }

  bool summarise_targets(WaitingNode& node) const {
    double sum = 0;
    int64_t rests = 0;
    double weight = 0;
    bool pure = true;
    const double first = data_.targets.target[rows_[node.begin]];
    for (int64_t i = node.begin; i < node.end; ++i) {
      const int32_t row = rows_[i];
      const double target = data_.targets.target[row];
      const bool weighted = !data_.targets.weight.empty();
      const double w = weighted ? data_.targets.weight[row] : times_of(row);
      const SumGrid& grid = data_.targets.target_grid;
      const double term = weighted ? w * target : target;
      const uint32_t times = weighted ? 1 : times_of(row);
      sum += times * grid.rounded(term);
      rests += times * grid.rest(term);
      weight += w;
      pure = pure && data_.targets.target[row] == first;
    }
    sum = data_.targets.target_grid.with_rests(sum, rests);
    node.value = pure || weight <= 0 ? first + 0.0 : sum / weight;  // never -0
    if (!times_.empty()) node.n_documents = static_cast<int64_t>(weight);
    return pure;
  }

  const ForestData data_;
  const ForestOptions& options_;
  std::vector<int32_t> rows_;
  std::vector<uint32_t> times_;  // of each row of the data, if rows_ has every row once
  int64_t n_documents_ = 0;
  double sample_weight_ = 0;
  uint64_t seed_;
  const CriterionTable& table_;
  const Heartbeat& heartbeat_;
  std::vector<uint8_t> labels_;  // classes of rows_, if there are classes
  StablePartition partition_;
  std::vector<uint32_t> class_counts_;
  std::vector<Code> flipped_;  // ranks of categories, in reverse
  std::vector<WaitingNode> children_;
  std::vector<Code> value_codes_;
  GrowingTree& tree_;
};

}  // namespace

Tree grow_tree(const ForestData& data, const ForestOptions& options, SampledRows drawn,
               uint64_t seed, const CriterionTable& table, const Heartbeat& heartbeat,
               GrowingTree& scratch) {
  const auto grown = [&]<typename Code>(Code) {
    return ForestTreeGrower<Code>(data, options, std::move(drawn), seed, table, heartbeat, scratch)
        .grow();
  };
  return data.features.binned->wide ? grown(uint16_t{}) : grown(uint8_t{});
}

void grow_sub_tree(const ForestData& data, const ForestOptions& options, NodeOrder order,
                   SampledRows drawn, const SubTreeRoot& place, const CriterionTable& table,
                   const Heartbeat& heartbeat, GrowingTree& tree, std::vector<double>& gains) {
  gains.clear();
  const auto grow = [&]<typename Code>(Code) {
    ForestTreeGrower<Code>(data, options, std::move(drawn), 0, table, heartbeat, tree)
        .grow_below(place, order, gains);
  };
  data.features.binned->wide ? grow(uint16_t{}) : grow(uint8_t{});
}

}  // namespace rankgrove::forests
