// The splits of a tree that have been found so far, in any order.
//
// The final tree is the one that a single worker would grow: its nodes are split in the order of
// the options, up to the maximum number of leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/growing/forest_options.hpp"
#include "forests/growing/growing_tree.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

// As in GrowingTree, a third child is written as two splits: children of a node with `branch` are
// the documents with a value, which are split again, and those without.
struct TableNode {
  double value = 0;
  int64_t n_documents = 0;
  double gain = 0;    // of its split
  int32_t left = -1;  // child; the other one follows it
  int32_t feature = -1;
  float threshold = 0;
  int32_t set = -1;
  bool missing_left = false;
  bool branch = false;
  bool pure = false;
  bool known = false;  // whether it is split, and how
};

struct NodeTable {
  std::vector<TableNode> nodes;
  std::vector<std::vector<uint32_t>> sets;  // of categories

  int32_t add(const TableNode& node) {
    nodes.push_back(node);
    return static_cast<int32_t>(nodes.size()) - 1;
  }
  int32_t add_set(std::vector<uint32_t> words) {
    sets.push_back(std::move(words));
    return static_cast<int32_t>(sets.size()) - 1;
  }
};

// Finds out which nodes of a limited tree must be known next; none if the tree is complete.
std::vector<int32_t> missing_nodes(const NodeTable& table, const ForestOptions& options,
                                   uint64_t tree_seed);

// The tree of a complete table.
Tree finished_tree(const NodeTable& table, const ForestOptions& options, uint64_t tree_seed);

}  // namespace rankgrove::forests
