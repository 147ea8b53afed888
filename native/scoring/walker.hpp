// Scores trees of any size by walking groups of rows through one tree at a time.
//
// Nodes that are near in the tree share cache lines, and take 8 bytes (12 in huge trees). The rows
// of a group take their steps in turn, so that each hides the memory latency of the others, while
// the next rows and the next tree are brought into the cache. Their values lie side by side, as
// integers in the order of the values, so that a step is a handful of instructions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scoring/columns.hpp"
#include "scoring/ensemble.hpp"

namespace rankgrove {

class Walker {
 public:
  Walker(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
         const MissingPolicy& policy);

  // Adds the trees' values for the first n_rows rows of the matrix: scores[output * stride + row].
  template <typename T>
  void add_scores(const StridedRows<T>& matrix, int32_t n_rows, double* scores,
                  int32_t stride) const;

 private:
  // The right child follows the left one. A leaf is its own right child, for its threshold is below
  // all keys: it is the number of its value in the tree. A position is where the first lane has the
  // value to compare (see Columns). Nodes are numbered from 1 in their tree.
  struct WideNode {
    uint32_t threshold;  // an order key
    uint32_t position;
    uint32_t left;
  };
  struct CompactNode {
    uint32_t threshold;
    uint32_t left_and_position;  // the lower position_bits_ bits are the position
  };
  // A node of trees with sets of categories. If it has one, `threshold` is where its words begin.
  struct SetNode {
    uint32_t threshold;
    uint32_t position;
    uint32_t left;
    uint32_t n_words;  // kNoSet: it has none
  };
  static constexpr uint32_t kNoSet = ~uint32_t{0};
  struct Tree {
    int32_t output;
    int32_t n_sure_steps;  // that are taken before the first look whether all rows have arrived
    int64_t first_node;
    int64_t first_value;
  };

  void add_tree(const EnsembleArrays& ensemble, int32_t tree, std::vector<SetNode>& nodes);
  uint32_t add_set(const EnsembleArrays& ensemble, int64_t node);
  // Whether a row with this key of the node's column goes right.
  bool goes_right(const SetNode& node, uint32_t key) const {
    if (node.n_words == kNoSet) return node.threshold < key;
    if (key == kFirstKey) return false;  // missing, and that goes left
    const uint32_t code = key - category_key(0);
    return code / 32 >= node.n_words || !(set_words_[node.threshold + code / 32] >> code % 32 & 1);
  }
  static WideNode unpack(WideNode node, int32_t, uint32_t mask) {
    return {node.threshold, node.position & mask, node.left};
  }
  static WideNode unpack(CompactNode node, int32_t position_bits, uint32_t mask) {
    return {node.threshold, node.left_and_position & mask, node.left_and_position >> position_bits};
  }
  // Rows as they were loaded: what a node says about the position of its value holds under a mask.
  struct Tile {
    const uint32_t* keys;
    int32_t width;
    uint32_t mask;
  };
  template <typename Node>
  void walk(const std::vector<Node>& nodes, const Tile& tile, int32_t n_rows, double* scores,
            int32_t stride) const;
  // Takes a group of rows to their leaves.
  template <typename Node>
  void walk_group(const Node* nodes, int32_t n_sure_steps, const uint32_t* keys,
                  const uint32_t* next_keys, uint32_t mask, uint32_t* at) const;

  Columns columns_;
  int32_t position_bits_;
  std::vector<Tree> trees_;  // and one more, where they end
  std::vector<CompactNode> compact_nodes_;
  std::vector<WideNode> wide_nodes_;  // used if the nodes of some tree do not fit the compact form
  std::vector<SetNode> set_nodes_;    // used if some node has a set of categories
  std::vector<uint32_t> set_words_;
  std::vector<double> values_;  // of leaves, weighted, each once in a tree
};

}  // namespace rankgrove
