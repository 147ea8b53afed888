// A tree while it grows: its nodes as records, side by side, in the order in which they were made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forests/growing/gain_heap.hpp"
#include "forests/growing/node_queue.hpp"
#include "forests/nodes/node_splitter.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

struct GrowingNode {
  double value;
  double gain = 0;
  uint32_t count;
  int32_t left = -1;  // child; the right one follows it
  int32_t feature = -1;
  float threshold = 0;
  int32_t set = -1;  // of categories that go left, if there is one
  bool missing_left = false;
  bool pure;            // all targets are equal: the node stays a leaf
  bool branch = false;  // the split parts missing values, and the left child the others
};

class GrowingTree {
 public:
  // Forgets all nodes but keeps their memory: one tree after the other can grow there.
  void clear() {
    nodes_.clear();
    sets_ = {};
  }

  int32_t n_nodes() const { return static_cast<int32_t>(nodes_.size()); }
  int32_t n_leaves() const { return (n_nodes() + 1) / 2; }
  GrowingNode& operator[](int32_t node) { return nodes_[node]; }
  const std::vector<GrowingNode>& nodes() const { return nodes_; }
  std::span<const uint32_t> set_words(int32_t set) const {
    const auto begin = static_cast<size_t>(sets_.offsets[set]);
    return {sets_.words.data() + begin, static_cast<size_t>(sets_.offsets[set + 1]) - begin};
  }

  void add_leaf(double value, int64_t n_documents, bool pure) {
    const auto count = static_cast<uint32_t>(n_documents);
    nodes_.push_back({.value = value, .count = count, .pure = pure});
  }
  void add_leaf(const WaitingNode& leaf, bool pure) {
    add_leaf(leaf.value, leaf.n_documents, pure);
  }

  // Makes an inner node of a leaf whose children are the nodes `left` and `left` + 1.
  void split_leaf(int32_t leaf, const NodeSplit& split, float threshold, bool missing_left,
                  int32_t left) {
    GrowingNode& node = nodes_[leaf];
    node.feature = split.feature;
    node.threshold = threshold;
    node.missing_left = missing_left;
    node.gain = split.gain;
    node.left = left;
  }

  // Adds a set of categories and returns its number.
  int32_t add_set(const std::vector<uint32_t>& words) { return sets_.add(words); }

  // Numbers the nodes below `roots` (all nodes from n_before on) as if the queue had said which was
  // to be split next.
  Tree numbered(NodeQueue queue, const std::vector<WaitingNode>& roots, int32_t n_before) const {
    Tree tree = flat(n_before);
    int32_t next = n_before;
    if (queue.order() == NodeOrder::kBreadthFirst) {
      number_by_level(roots, tree, next);
      return tree;
    }
    if (queue.order() == NodeOrder::kBestFirst) {
      number_by_gain(roots, tree, next);
      return tree;
    }
    std::vector<int32_t> left_of(nodes_.size());  // by new number: the old number of its left child
    for (int32_t i = 0; i < n_before; ++i) left_of[i] = nodes_[i].left;
    std::vector<WaitingNode> children;
    queue.push_all(roots);
    while (!queue.empty()) {
      const int32_t number = queue.pop().node;
      const int32_t left = left_of[number];
      if (left < 0) continue;
      children.clear();
      for (int32_t side = 0; side < 2; ++side) {
        const GrowingNode& child = nodes_[left + side];
        left_of[next + side] = child.left;
        if (!child.pure) {
          children.push_back(
              {.node = next + side, .value = child.value, .n_documents = child.count});
        }
      }
      put_children(tree, number, left, next);
      queue.push_all(children);
    }
    return tree;
  }

  // The tree with its nodes numbered as they were made.
  Tree flat() const { return flat(n_nodes()); }

 private:
  // The same for the order in which nodes come: no queue is needed, and the next nodes are known.
  void number_by_level(const std::vector<WaitingNode>& roots, Tree& tree, int32_t& next) const {
    constexpr size_t kAhead = 16;
    struct Parent {
      int32_t number;
      int32_t left;
    };
    std::vector<Parent> parents;
    parents.reserve(nodes_.size() / 2 + 1);
    const auto add = [&](int32_t number, int32_t left) {
      if (left >= 0) parents.push_back({number, left});
    };
    for (const WaitingNode& root : roots) add(root.node, nodes_[root.node].left);
    for (size_t i = 0; i < parents.size(); ++i) {
      if (i + kAhead < parents.size()) __builtin_prefetch(&nodes_[parents[i + kAhead].left]);
      const auto [number, left] = parents[i];
      add(next, nodes_[left].left);
      add(next + 1, nodes_[left + 1].left);
      put_children(tree, number, left, next);
    }
  }

  // The same for the order of gains.
  void number_by_gain(const std::vector<WaitingNode>& roots, Tree& tree, int32_t& next) const {
    GainHeap parents;
    const auto add = [&](int32_t number, const GrowingNode& node) {
      if (node.left >= 0) parents.push({node.gain, number, node.left});
    };
    for (const WaitingNode& root : roots) add(root.node, nodes_[root.node]);
    while (!parents.empty()) {
      const GainHeap::Entry parent = parents.pop();
      add(next, nodes_[parent.place]);
      add(next + 1, nodes_[parent.place + 1]);
      put_children(tree, parent.node, parent.place, next);
    }
  }

  // The children of a node, which are at `left`, get the next two numbers.
  void put_children(Tree& tree, int32_t number, int32_t left, int32_t& next) const {
    tree.left[number] = next;
    put(tree, next++, nodes_[left]);
    put(tree, next++, nodes_[left + 1]);
  }

  // The first nodes; the buffer holds all.
  Tree flat(int32_t n_first) const {
    Tree tree;
    tree.resize(nodes_.size());
    tree.categories = sets_;
    for (int32_t i = 0; i < n_first; ++i) {
      put(tree, i, nodes_[i]);
      tree.left[i] = nodes_[i].left;
    }
    return tree;
  }

  // All but the number of the child.
  static void put(Tree& tree, int32_t number, const GrowingNode& node) {
    tree.feature[number] = node.feature;
    tree.threshold[number] = node.threshold;
    tree.left[number] = -1;
    tree.missing_left[number] = node.missing_left;
    tree.value[number] = node.value;
    tree.count[number] = node.count;
    tree.gain[number] = Tree::finite_gain(node.gain);
    if (node.set >= 0) tree.categories.assign(number, node.set, tree.n_nodes());
  }

  std::vector<GrowingNode> nodes_;
  CategorySets sets_;
};

}  // namespace rankgrove::forests
