// One grown tree, as flat arrays.
//
// Node 0 is the root. Siblings are neighbours: the left child of node i is left[i], the right child
// left[i] + 1, and both are greater than i (so a tree cannot have a cycle). A leaf has left = -1
// and feature = -1. A row goes left if its value <= threshold, or if it is missing (NaN) and
// missing_left is 1; at a node with a set of categories, if its category is in the set (the
// threshold is then 0 and means nothing), or if it is missing and missing_left is 1. `value` of an
// inner node is its value as a leaf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "trees/category_sets.hpp"

namespace rankgrove {

struct Tree {
  std::vector<int32_t> feature;
  std::vector<float> threshold;
  std::vector<int32_t> left;
  std::vector<uint8_t> missing_left;
  std::vector<double> value;
  std::vector<int64_t> count;  // training rows of all workers that reached the node
  std::vector<float> gain;     // improvement of the split's criterion; 0 for a leaf
  CategorySets categories;

  // The gain as it is stored: a gain that is too large becomes the largest number.
  static float finite_gain(double gain) {
    return static_cast<float>(
        std::min(gain, static_cast<double>(std::numeric_limits<float>::max())));
  }

  int32_t n_nodes() const { return static_cast<int32_t>(feature.size()); }
  bool is_leaf(int32_t node) const { return left[node] < 0; }

  void resize(size_t n) {
    feature.resize(n);
    threshold.resize(n);
    left.resize(n);
    missing_left.resize(n);
    value.resize(n);
    count.resize(n);
    gain.resize(n);
  }

  // Appends a leaf and returns its number.
  int32_t add_leaf(double leaf_value, int64_t n_rows) {
    feature.push_back(-1);
    threshold.push_back(0.0f);
    left.push_back(-1);
    missing_left.push_back(0);
    value.push_back(leaf_value);
    count.push_back(n_rows);
    gain.push_back(0.0f);
    categories.complete(n_nodes());
    return n_nodes() - 1;
  }

  // Makes an inner node of a leaf whose two children have just been, or will next be, appended.
  void split_leaf(int32_t node, int32_t split_feature, float split_threshold, bool nan_left,
                  double split_gain, int32_t left_child) {
    feature[node] = split_feature;
    threshold[node] = split_threshold;
    missing_left[node] = nan_left;
    gain[node] = finite_gain(split_gain);
    left[node] = left_child;
  }
};

}  // namespace rankgrove
