// A tree ensemble as Python hands it over: borrowed flat arrays, checked before anything is built
// from them. The fields are those of rankgrove.trees.ensemble.TreeEnsemble.
#pragma once

#include <cstdint>
#include <span>

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
  std::span<const double> precise;  // thresholds in float64, if comparisons are to be made so

  int32_t n_trees() const { return static_cast<int32_t>(tree_offsets.size()) - 1; }
  int32_t n_outputs() const { return static_cast<int32_t>(base_score.size()); }
  bool is_leaf(int64_t node) const { return left[node] < 0; }

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
// (so no cycles), no threshold NaN or -inf (+inf parts missing values from all others), and finite
// values, weights and base scores.
void check_ensemble(const EnsembleArrays& ensemble);

}  // namespace rankgrove
