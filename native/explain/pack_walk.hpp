// Traversal of a tree by a pack of rows, which adds up Shapley values of features and of pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "common/simd.hpp"
#include "explain/lane_buffer.hpp"
#include "explain/path_kernels.hpp"
#include "explain/tree_program.hpp"

namespace rankgrove {

// The effects on the rows of a pack so far, in groups of four rows.
struct PackEffects {
  Lanes64* features;  // [feature * n_groups + group]
  Lanes64* pairs;     // [pair_index * n_groups + group], or null
  int64_t n_features;
};

// The number of a pair of features among all pairs of n features; i < j.
inline int64_t pair_index(int64_t i, int64_t j, int64_t n) {
  return i * (2 * n - i - 1) / 2 + j - i - 1;
}

class PackWalk {
 public:
  // Adds the effects of a tree that is at most so deep. values[column * stride + row] are those of
  // the rows.
  void run(const TreeProgram& program, int32_t depth, const float* values, int64_t stride,
           int32_t n_groups, const PackEffects& effects);

 private:
  using Step = TreeProgram::Step;

  void make_room(const TreeProgram& program, int32_t depth, int32_t n_groups, bool pairs);
  void enter(const TreeProgram& program, int64_t number);
  void add_leaves(const TreeProgram& program, int64_t number);
  void leave(const TreeProgram& program, int64_t number);
  void add_pairs(const TreeProgram& program, int32_t level, int32_t feature);

  LaneMask64* met(int32_t level) { return met_.data() + int64_t{level} * shape_.n_groups; }
  LaneMask64* kept(int32_t level) { return kept_.data() + int64_t{level} * shape_.n_groups; }
  LaneMask64* kept_before(int32_t level) { return level == 0 ? nullptr : kept(level); }
  Lanes64* product(int32_t level) { return product_.data() + int64_t{level} * shape_.size(); }
  Lanes64* below(int32_t level) { return below_.data() + int64_t{level} * shape_.size(); }
  Lanes64* edge_weights(int32_t level) {
    return edge_weights_.data() + int64_t{level} * shape_.size();
  }
  Lanes64* effect(int32_t feature) {
    return effects_.features + int64_t{feature} * shape_.n_groups;
  }

  PackShape shape_{};
  PackEffects effects_{};

  // For each level:
  std::vector<int64_t> path_;         // the step
  LaneBuffer<LaneMask64> met_;        // rows that go left at the split
  LaneBuffer<LaneMask64> kept_;       // rows that pass the path's edges by the edge's feature
  LaneBuffer<Lanes64> product_;       // P
  LaneBuffer<Lanes64> below_;         // H, as far as children are done
  LaneBuffer<Lanes64> edge_weights_;  // (o - z) / f of the edge; for pairs only
  LaneBuffer<Lanes64> weighed_;       // of the edge in hand: H (o - z) / f; for pairs only
};

}  // namespace rankgrove
