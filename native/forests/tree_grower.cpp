#include "forests/tree_grower.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "forests/criteria/registry.hpp"
#include "forests/leaf_table.hpp"
#include "forests/listwise_splitter.hpp"
#include "forests/node_queue.hpp"
#include "forests/pointwise_splitter.hpp"
#include "forests/random_splitter.hpp"
#include "forests/sized_splitter.hpp"
#include "forests/split.hpp"
#include "forests/stable_partition.hpp"

namespace rankgrove::forests {
namespace {

constexpr uint64_t kOrderStream = 2;

struct Summary {
  double value;  // mean target
  bool pure;     // all targets are equal
};

template <typename Code>
class TreeGrower {
 public:
  TreeGrower(const ForestData& data, const GrowOptions& options, std::vector<int32_t> rows,
             uint64_t seed, const std::vector<double>& log_table, const Heartbeat& heartbeat)
      : data_(data),
        options_(options),
        rows_(std::move(rows)),
        seed_(seed),
        log_table_(log_table),
        heartbeat_(heartbeat),
        right_rows_(rows_.size()),
        class_counts_(data.n_classes()) {
    if (!data.has_classes()) return;
    right_labels_.resize(rows_.size());
    labels_.reserve(rows_.size());
    for (const int32_t row : rows_) labels_.push_back(data.label[row]);
  }

  Tree grow() {
    const auto n = static_cast<int64_t>(rows_.size());
    const Summary root = summary(0, n);
    add_leaf(root, n);
    std::vector<WaitingNode> waiting;
    if (!root.pure) waiting.push_back({0, 0, 0, n, root.value, mix64(seed_)});
    if (options_.listwise_levels > 0) waiting = grow_listwise(waiting);
    grow_pointwise(waiting);
    return std::move(tree_);
  }

 private:
  // Splits the upper levels; returns the leaves that are left to pointwise splits. All listwise
  // splits come before all pointwise ones.
  std::vector<WaitingNode> grow_listwise(const std::vector<WaitingNode>& roots) {
    LeafTable leaves(data_.offsets, data_.metric);
    const double total_weight = start_queries(leaves);
    ListwiseSplitter<Code> splitter(data_, options_, leaves, total_weight);
    std::vector<WaitingNode> deeper;
    NodeQueue queue = new_queue(options_.order);
    queue.push_all(roots);
    while (!queue.empty() && n_leaves() < options_.max_leaf_nodes) {
      split_next(
          queue, splitter,
          [&](const WaitingNode& node, const WaitingNode& left, const WaitingNode& right) {
            move_documents(leaves, node.value, left, right);
          },
          [&](const WaitingNode& child) {
            const bool listwise = child.depth < options_.listwise_levels;
            if (!listwise) deeper.push_back(child);
            return listwise;
          });
    }
    return deeper;
  }

  // Puts all documents into the root; returns the weight of all queries of the sample.
  double start_queries(LeafTable& leaves) const {
    double total_weight = 0;
    for (size_t i = 0; i < rows_.size();) {
      const int32_t query = data_.query_of_row[rows_[i]];
      const Portion all = portion_of(query, i, rows_.size());
      leaves.start_query(query, tree_.value[0], all);
      total_weight += data_.metric.weight[query];
    }
    return total_weight;
  }

  // Documents of a query among rows i .. end - 1, if they come first there; i moves behind them.
  template <typename Index>
  Portion portion_of(int32_t query, Index& i, Index end) const {
    Portion portion;
    while (i < end && data_.query_of_row[rows_[i]] == query) {
      portion.add(data_.metric.gain[rows_[i++]]);
    }
    return portion;
  }

  void move_documents(LeafTable& leaves, double score, const WaitingNode& left,
                      const WaitingNode& right) const {
    int64_t i = left.begin;
    int64_t j = right.begin;
    while (i < left.end || j < right.end) {
      const int32_t next_left = i < left.end ? rows_[i] : kUnlimited;
      const int32_t next_right = j < right.end ? rows_[j] : kUnlimited;
      const int32_t query = data_.query_of_row[std::min(next_left, next_right)];
      const Portion on_left = portion_of(query, i, left.end);
      const Portion on_right = portion_of(query, j, right.end);
      leaves.split(query, score, left.value, on_left, right.value, on_right);
    }
  }

  // A pointwise tree does not depend on the order of its splits. Going deep first keeps the rows of
  // a sub-tree in the cache; the nodes are numbered in the wanted order afterwards.
  void grow_pointwise(const std::vector<WaitingNode>& roots) {
    const auto splitter = pointwise_splitter();
    const bool limited = options_.max_leaf_nodes != kUnlimited;
    const int32_t n_before = tree_.n_nodes();
    NodeQueue queue = new_queue(limited ? options_.order : NodeOrder::depth_first);
    queue.push_all(roots);
    while (!queue.empty() && n_leaves() < options_.max_leaf_nodes) {
      split_next(queue, *splitter, [](const auto&...) {}, [](const WaitingNode&) { return true; });
    }
    if (!limited && options_.order != NodeOrder::depth_first) renumber(roots, n_before);
  }

  // Takes the next leaf and splits it, if a split is found. on_split(node, left, right) is told;
  // children that are not pure wait for their turn if wanted(child).
  template <typename OnSplit, typename Wanted>
  void split_next(NodeQueue& queue, NodeSplitter<Code>& splitter, OnSplit&& on_split,
                  Wanted&& wanted) {
    heartbeat_();
    const WaitingNode node = queue.pop();
    if (node.size() < options_.min_samples_split || node.depth >= options_.max_depth ||
        node.size() < 2 * options_.min_samples_leaf) {
      return;
    }
    Random random(node.key);
    const NodeRows documents{rows_.data() + node.begin,
                             labels_.empty() ? nullptr : labels_.data() + node.begin, node.size()};
    const Split split = splitter.find(documents, node, random);
    if (!split.found()) return;
    const int64_t middle = partition(node, split, splitter.split_codes());
    const Summary left = summary(node.begin, middle);
    const Summary right = summary(middle, node.end);
    const int32_t child = add_leaf(left, middle - node.begin);
    add_leaf(right, node.end - middle);
    const double gain = options_.splitter == Splitter::random
                            ? fall_of_squared_error(node, middle, left.value, right.value)
                            : split.gain;
    tree_.split_leaf(node.node, split.feature, split.threshold(*data_.binned->bins),
                     split.missing_left, static_cast<float>(gain), child);
    const int32_t depth = node.depth + 1;
    const WaitingNode left_node{child,  depth,      node.begin,
                                middle, left.value, mix64(node.key ^ 0x5bd1e995u)};
    const WaitingNode right_node{child + 1, depth,       middle,
                                 node.end,  right.value, mix64(node.key + 1)};
    on_split(node, left_node, right_node);
    children_.clear();
    if (!left.pure && wanted(left_node)) children_.push_back(left_node);
    if (!right.pure && wanted(right_node)) children_.push_back(right_node);
    queue.push_all(children_);
  }

  int32_t add_leaf(const Summary& leaf, int64_t n_rows) {
    pure_.push_back(leaf.pure);
    return tree_.add_leaf(leaf.value, static_cast<uint32_t>(n_rows));
  }

  NodeQueue new_queue(NodeOrder order) const {
    return NodeQueue(order, mix64(seed_ + kOrderStream));
  }

  int32_t n_leaves() const { return (tree_.n_nodes() + 1) / 2; }

  std::unique_ptr<NodeSplitter<Code>> pointwise_splitter() const {
    if (options_.splitter == Splitter::random) {
      return std::make_unique<RandomSplitter<Code>>(data_, options_);
    }
    const auto n = static_cast<int64_t>(rows_.size());
    const int64_t most = most_in_small_nodes(options_.criterion, data_);
    if (n <= most) return criterion_splitter(n);
    return std::make_unique<SizedSplitter<Code>>(criterion_splitter(most), most,
                                                 criterion_splitter(n));
  }

  std::unique_ptr<NodeSplitter<Code>> criterion_splitter(int64_t most_documents) const {
    return visit_criterion(options_.criterion, data_, log_table_, most_documents,
                           [&](auto criterion) -> std::unique_ptr<NodeSplitter<Code>> {
                             return std::make_unique<PointwiseSplitter<Code, decltype(criterion)>>(
                                 data_, options_, std::move(criterion), sample_weight());
                           });
  }

  double sample_weight() const {
    if (data_.weight.empty()) return static_cast<double>(rows_.size());
    double sum = 0;
    for (const int32_t row : rows_) sum += data_.weight[row];
    return sum;
  }

  // What a split that nobody chose has gained, for the importance of its feature.
  double fall_of_squared_error(const WaitingNode& node, int64_t middle, double left,
                               double right) const {
    const auto n_left = static_cast<double>(middle - node.begin);
    const auto n_right = static_cast<double>(node.end - middle);
    return (n_left * (left - node.value) * (left - node.value) +
            n_right * (right - node.value) * (right - node.value)) /
           static_cast<double>(rows_.size());
  }

  // Rows that go left first, both sides in their old order; returns where the right side begins.
  int64_t partition(const WaitingNode& node, const Split& split, const Code* codes) {
    const int32_t missing_bin = data_.binned->missing_bin(split.feature);
    partition_.set_sides(codes, node.size(), split, missing_bin);
    if (!labels_.empty()) partition_.apply(labels_.data() + node.begin, right_labels_.data());
    return node.begin + partition_.apply(rows_.data() + node.begin, right_rows_.data());
  }

  Summary summary(int64_t begin, int64_t end) {
    if (begin == end) return {0.0, true};
    if (data_.has_classes() && data_.weight.empty()) return class_summary(begin, end);
    double sum = 0;
    double weight = 0;
    bool pure = true;
    const double first = data_.target[rows_[begin]];
    for (int64_t i = begin; i < end; ++i) {
      const int32_t row = rows_[i];
      const double w = data_.weight.empty() ? 1.0 : data_.weight[row];
      sum += w * data_.target[row];
      weight += w;
      pure = pure && data_.target[row] == first;
    }
    return {pure || weight <= 0 ? first : sum / weight, pure};
  }

  Summary class_summary(int64_t begin, int64_t end) {
    constexpr int64_t kManyDocuments = 64;
    std::fill(class_counts_.begin(), class_counts_.end(), 0);
    if (end - begin >= kManyDocuments && data_.n_classes() <= kFewClasses) {
      count_classes(labels_.data() + begin, end - begin, data_.n_classes(), class_counts_.data());
    } else {
      for (int64_t i = begin; i < end; ++i) ++class_counts_[labels_[i]];
    }
    double sum = 0;
    int32_t n_present = 0;
    for (size_t c = 0; c < class_counts_.size(); ++c) {
      sum += data_.class_value[c] * class_counts_[c];
      n_present += class_counts_[c] > 0;
    }
    return {sum / static_cast<double>(end - begin), n_present == 1};
  }

  // Numbers the nodes below `roots` (all nodes from n_before on) as if they had been split in the
  // wanted order.
  void renumber(const std::vector<WaitingNode>& roots, int32_t n_before) {
    std::vector<int32_t> old_number(tree_.n_nodes());
    for (int32_t i = 0; i < n_before; ++i) old_number[i] = i;
    int32_t next = n_before;
    NodeQueue queue = new_queue(options_.order);
    queue.push_all(roots);
    std::vector<int32_t> new_left(tree_.left);
    while (!queue.empty()) {
      const int32_t number = queue.pop().node;
      const int32_t left = tree_.left[old_number[number]];
      if (left < 0) continue;
      new_left[old_number[number]] = next;
      old_number[next] = left;
      old_number[next + 1] = left + 1;
      children_.clear();
      for (int32_t side = 0; side < 2; ++side) {
        const int32_t old = left + side;
        if (pure_[old]) continue;
        children_.push_back({next + side, 0, 0, tree_.count[old], tree_.value[old], 0});
      }
      queue.push_all(children_);
      next += 2;
    }
    const auto permuted = [&](auto& values) {
      auto copy = values;
      for (int32_t i = 0; i < tree_.n_nodes(); ++i) copy[i] = values[old_number[i]];
      values = std::move(copy);
    };
    tree_.left = std::move(new_left);
    permuted(tree_.feature);
    permuted(tree_.threshold);
    permuted(tree_.left);
    permuted(tree_.missing_left);
    permuted(tree_.value);
    permuted(tree_.count);
    permuted(tree_.gain);
  }

  const ForestData& data_;
  const GrowOptions& options_;
  std::vector<int32_t> rows_;
  uint64_t seed_;
  const std::vector<double>& log_table_;
  const Heartbeat& heartbeat_;
  std::vector<int32_t> right_rows_;
  std::vector<uint8_t> labels_;  // classes of rows_, if there are classes
  std::vector<uint8_t> right_labels_;
  StablePartition partition_;
  std::vector<uint32_t> class_counts_;
  std::vector<WaitingNode> children_;
  std::vector<bool> pure_;  // of each node: all targets are equal
  Tree tree_;
};

}  // namespace

Tree grow_tree(const ForestData& data, const GrowOptions& options, std::vector<int32_t> rows,
               uint64_t seed, const std::vector<double>& log_table, const Heartbeat& heartbeat) {
  if (data.binned->wide) {
    return TreeGrower<uint16_t>(data, options, std::move(rows), seed, log_table, heartbeat).grow();
  }
  return TreeGrower<uint8_t>(data, options, std::move(rows), seed, log_table, heartbeat).grow();
}

}  // namespace rankgrove::forests
