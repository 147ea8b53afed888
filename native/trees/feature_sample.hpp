// The features that a tree, and each of its nodes, may split.
#pragma once

#include <cstdint>
#include <vector>

namespace rankgrove {

class FeatureSample {
 public:
  // Shares of the features that are drawn for each tree, and of these for each node.
  FeatureSample(int32_t n_features, double tree_share, double node_share)
      : n_features_(n_features), tree_share_(tree_share), node_share_(node_share) {}

  // Draws the features of the next tree.
  void start_tree(uint64_t seed);

  // The features that may split a node (a level, if oblivious), ascending; at least one. The draw
  // follows from the tree's seed and from `number`.
  std::vector<int32_t> of_node(int32_t number) const;

  // The same among those of the tree's features for which allowed(feature) holds; perhaps none.
  template <typename Allowed>
  std::vector<int32_t> of_node(int32_t number, Allowed&& allowed) const {
    std::vector<int32_t> pool;
    for (const int32_t f : of_tree_) {
      if (allowed(f)) pool.push_back(f);
    }
    return draw(pool, number);
  }

 private:
  std::vector<int32_t> draw(const std::vector<int32_t>& pool, int32_t node) const;

  int32_t n_features_;
  double tree_share_, node_share_;
  uint64_t seed_ = 0;
  std::vector<int32_t> of_tree_;
};

}  // namespace rankgrove
