#include "forests/sharded/node_table.hpp"

#include "forests/growing/forest_tree.hpp"
#include "forests/growing/found_split.hpp"
#include "forests/growing/node_queue.hpp"

namespace rankgrove::forests {
namespace {

// Number of the leaves that a best-first tree would split next whose children are searched in
// advance.
constexpr int kLookahead = 15;

// Splits the nodes of a table as ForestTreeGrower would. `begin` of a waiting node is its place in
// the table.
class Replay {
 public:
  Replay(const NodeTable& table, const ForestOptions& options, uint64_t tree_seed)
      : table_(table), options_(options), seed_(tree_seed) {
    const TableNode& root = table.nodes[0];
    WaitingNode waiting = waiting_node(0, 0);
    tree_.add_leaf(waiting, root.pure);
    if (!root.pure) roots_.push_back(waiting);
  }

  void run(NodeOrder order) {
    if (order == NodeOrder::kBestFirst) {
      run_best_first();
      return;
    }
    NodeQueue queue(order, order_seed(seed_));
    queue.push_all(roots_);
    while (!queue.empty() && may_grow()) {
      const WaitingNode node = queue.pop();
      const TableNode& known = of(node);
      if (!known.known) {
        missing_.push_back(static_cast<int32_t>(node.begin));
        while (!queue.empty()) {
          if (const WaitingNode next = queue.pop(); !of(next).known) {
            missing_.push_back(static_cast<int32_t>(next.begin));
          }
        }
        return;
      }
      if (known.left >= 0 && fits(known)) queue.push_all(split(node));
    }
  }

  const std::vector<int32_t>& missing() const { return missing_; }

  Tree finished(NodeOrder order, bool as_ordered) const {
    return as_ordered ? tree_.flat()
                      : tree_.numbered(NodeQueue(order, order_seed(seed_)), roots_, 1);
  }

 private:
  void run_best_first() {
    SplitQueue queue(kUnlimited);
    const auto open = [&](const std::vector<WaitingNode>& nodes) {
      for (const WaitingNode& node : nodes) {
        if (!may_grow()) return;
        const TableNode& known = of(node);
        if (!known.known) {
          missing_.push_back(static_cast<int32_t>(node.begin));
        } else if (known.left >= 0) {
          FoundSplit& found = queue.next();
          found.node = node;
          found.split.gain = known.gain;
          queue.push();
        }
      }
    };
    open(roots_);
    while (missing_.empty() && !queue.empty() && may_grow()) {
      const FoundSplit& found = queue.pop();
      if (fits(of(found.node))) open(split(found.node));
    }
    if (missing_.empty()) return;
    for (int i = 0; i < kLookahead && !queue.empty() && may_grow(); ++i) {
      const FoundSplit& found = queue.pop();
      if (!fits(of(found.node))) continue;
      for (const WaitingNode& child : split(found.node)) {
        if (!of(child).known) missing_.push_back(static_cast<int32_t>(child.begin));
      }
    }
  }

  bool may_grow() const { return tree_.n_leaves() < options_.max_leaf_nodes; }
  bool fits(const TableNode& node) const {
    return !node.branch || tree_.n_leaves() + 1 < options_.max_leaf_nodes;
  }
  const TableNode& of(const WaitingNode& node) const { return table_.nodes[node.begin]; }

  WaitingNode waiting_node(int32_t node, int32_t place) const {
    const TableNode& known = table_.nodes[place];
    WaitingNode waiting;
    waiting.node = node;
    waiting.begin = place;
    waiting.value = known.value;
    waiting.n_documents = known.n_documents;
    return waiting;
  }

  // Splits a leaf; returns its children that are not pure.
  const std::vector<WaitingNode>& split(const WaitingNode& leaf) {
    children_.clear();
    const bool branch = of(leaf).branch;
    WaitingNode parent = leaf;
    WaitingNode third;
    if (branch) {
      const auto [values, missing] = add_children(leaf);
      parent = values;
      third = missing;
    }
    const auto [left, right] = add_children(parent);
    for (const WaitingNode& child : {left, right}) {
      if (!of(child).pure) children_.push_back(child);
    }
    if (branch && !of(third).pure) children_.push_back(third);
    return children_;
  }

  std::pair<WaitingNode, WaitingNode> add_children(const WaitingNode& leaf) {
    const TableNode& known = of(leaf);
    const int32_t number = tree_.n_nodes();
    const WaitingNode left = waiting_node(number, known.left);
    const WaitingNode right = waiting_node(number + 1, known.left + 1);
    tree_.add_leaf(left, of(left).pure);
    tree_.add_leaf(right, of(right).pure);
    GrowingNode& parent = tree_[leaf.node];
    parent.feature = known.feature;
    if (known.set >= 0) {
      parent.set = tree_.add_set(table_.sets[known.set]);
    } else {
      parent.threshold = known.threshold;
    }
    parent.missing_left = known.missing_left;
    parent.gain = known.gain;
    parent.left = number;
    return {left, right};
  }

  const NodeTable& table_;
  const ForestOptions& options_;
  uint64_t seed_;
  GrowingTree tree_;
  std::vector<WaitingNode> roots_, children_;
  std::vector<int32_t> missing_;
};

}  // namespace

std::vector<int32_t> missing_nodes(const NodeTable& table, const ForestOptions& options,
                                   uint64_t tree_seed) {
  Replay replay(table, options, tree_seed);
  replay.run(options.order);
  return replay.missing();
}

Tree finished_tree(const NodeTable& table, const ForestOptions& options, uint64_t tree_seed) {
  const bool as_ordered = splits_as_ordered(options);
  Replay replay(table, options, tree_seed);
  replay.run(as_ordered ? options.order : NodeOrder::kDepthFirst);
  return replay.finished(options.order, as_ordered);
}

}  // namespace rankgrove::forests
