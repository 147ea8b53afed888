// A tree ensemble as Python hands it over: borrowed flat arrays, checked before anything is built
// from them. The fields are those of rankgrove.trees.ensemble.TreeEnsemble.
#pragma once

#include <cstdint>
#include <span>

#include "common/category_bits.hpp"

namespace rankgrove {

struct EnsembleArrays {
  int64_t n_features = 0;
  std::span<const int64_t> tree_offsets;
  std::span<const double> tree_weights;
  std::span<const int32_t> tree_outputs;
  std::span<const double> base_score;
  std::span<const int32_t> feature;
  std::span<const float> threshold;
  std::span<const int32_t> left;
  std::span<const uint8_t> missing_left;
  std::span<const double> value;
  std::span<const double> precise;       // thresholds in float64, if comparisons are to be made so
  std::span<const int32_t> set_of_node;  // -1 where a threshold decides; empty: it always does
  std::span<const int64_t> set_offsets;  // of each set's words; empty if there are no sets
  std::span<const uint32_t> set_words;

  int32_t n_trees() const { return static_cast<int32_t>(tree_offsets.size()) - 1; }
  int32_t n_outputs() const { return static_cast<int32_t>(base_score.size()); }
  bool is_leaf(int64_t node) const { return left[node] < 0; }

  // Whether a node sends a set of categories left, and the set.
  bool has_set(int64_t node) const { return !set_of_node.empty() && set_of_node[node] >= 0; }
  std::span<const uint32_t> set(int64_t node) const {
    const int64_t begin = set_offsets[set_of_node[node]];
    return set_words.subspan(begin, set_offsets[set_of_node[node] + 1] - begin);
  }

  // Whether a row with this value of the node's feature goes left.
  bool goes_left(int64_t node, float x) const {
    if (has_set(node)) {
      const uint32_t code = category_code(x);
      return code == kNoCategory ? missing_left[node] != 0 : has_category(set(node), code);
    }
    return x != x ? missing_left[node] != 0 : x <= threshold[node];
  }

  // A split's threshold in one of the two types.
  template <typename V>
  V threshold_in(int64_t node) const {
    if constexpr (sizeof(V) == sizeof(double)) {
      return precise[node];
    } else {
      return threshold[node];
    }
  }
};

// Throws std::invalid_argument that names the tree, node and value unless everything that scoring
// relies on holds: indices in range, every node but the root the child of exactly one earlier node
// (so no cycles), no threshold NaN or -inf (+inf parts missing values from all others), sets of
// categories at all splits of a feature or at none, and finite values, weights and base scores.
void check_ensemble(const EnsembleArrays& ensemble);

}  // namespace rankgrove
