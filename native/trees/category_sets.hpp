// The sets of categories that nodes of a tree send left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rankgrove {

// All empty in a tree without categorical splits.
struct CategorySets {
  std::vector<int32_t> of_node;  // number of each node's set; -1: it compares with its threshold
  std::vector<int64_t> offsets;  // of each set's words, n_sets + 1
  std::vector<uint32_t> words;

  bool has(int32_t node) const { return !of_node.empty() && of_node[node] >= 0; }
  std::span<const uint32_t> of(int32_t node) const {
    const int64_t begin = offsets[of_node[node]];
    return {words.data() + begin, static_cast<size_t>(offsets[of_node[node] + 1] - begin)};
  }

  // Adds a set and returns its number.
  int32_t add(std::span<const uint32_t> set) {
    if (offsets.empty()) offsets.push_back(0);
    words.insert(words.end(), set.begin(), set.end());
    offsets.push_back(static_cast<int64_t>(words.size()));
    return static_cast<int32_t>(offsets.size()) - 2;
  }

  // Gives a node of a tree with n_nodes a set.
  void assign(int32_t node, int32_t set, int32_t n_nodes) {
    of_node.resize(n_nodes, -1);
    of_node[node] = set;
  }

  // Gives the nodes that have been added since an entry, if there are sets at all.
  void complete(int32_t n_nodes) {
    if (!of_node.empty()) of_node.resize(n_nodes, -1);
  }
};

}  // namespace rankgrove
