// Interaction constraints: which features may occur together on a path of a tree.
//
// Features form groups. A node may be split by a feature if one group holds that feature and all
// those that split the nodes above it. Each node remembers, as bits, the groups that hold all
// features above it: groups of the parent AND groups of the feature that split the parent.
//
//   groups {price, clicks}, {clicks, age}:   price = 01, clicks = 11, age = 10
//   root 11 -- clicks --> children 11 -- age --> children 10: price (01) is not allowed any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace rankgrove {

class InteractionConstraints {
 public:
  InteractionConstraints() = default;

  // `groups` has n_words words per feature: bit g says that the feature is in group g.
  InteractionConstraints(std::vector<uint64_t> groups, size_t n_words)
      : groups_(std::move(groups)), n_words_(n_words) {}

  bool empty() const { return groups_.empty(); }

  int64_t n_features() const {
    return empty() ? 0 : static_cast<int64_t>(groups_.size() / n_words_);
  }

  // Forgets the last tree; its root is node 0.
  void start_tree() { node_.assign(n_words_, ~uint64_t{0}); }

  bool allows(int32_t node, int32_t feature) const {
    const uint64_t* of_node = node_.data() + node * n_words_;
    const uint64_t* of_feature = groups_.data() + feature * n_words_;
    for (size_t w = 0; w < n_words_; ++w) {
      if (of_node[w] & of_feature[w]) return true;
    }
    return false;
  }

  // The children `left` and left + 1 of a node that is split by the feature.
  void split(int32_t node, int32_t feature, int32_t left) {
    node_.resize(std::max(node_.size(), (left + size_t{2}) * n_words_));
    for (size_t w = 0; w < n_words_; ++w) {
      const uint64_t groups = node_[node * n_words_ + w] & groups_[feature * n_words_ + w];
      node_[left * n_words_ + w] = node_[(left + 1) * n_words_ + w] = groups;
    }
  }

 private:
  std::vector<uint64_t> groups_;  // by feature
  size_t n_words_ = 0;
  std::vector<uint64_t> node_;  // by node of the tree
};

}  // namespace rankgrove
