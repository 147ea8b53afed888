// One tree, laid out for walking through all of it: its splits in the order in which they are
// visited, with all numbers that do not depend on the rows.
//
// z of an edge is the share of documents that pass it and those of its feature above it on the
// path; f = t + (1 - t) z is its factor for a row that passes them too, and (1 - t) z for one that
// does not. shapley.hpp explains their use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/quadrature.hpp"
#include "scoring/columns.hpp"
#include "scoring/ensemble.hpp"

namespace rankgrove {

// An ensemble that knows how many training documents reached each node.
struct CountedEnsemble : EnsembleArrays {
  std::span<const double> count;  // or the sum of their weights

  // The share of a split's documents that go left; a half if there are none.
  double left_share(int64_t root, int64_t split) const {
    const double to_left = count[root + left[split]];
    const double to_right = count[root + left[split] + 1];
    return to_left + to_right > 0 ? to_left / (to_left + to_right) : 0.5;
  }
};

// How many splits the longest path of a tree has, and how many features a path asks for at most.
struct TreeExtent {
  int32_t depth = 0;
  int32_t n_path_features = 0;
};
TreeExtent extent_of(const EnsembleArrays& ensemble, int32_t tree);

class TreeProgram {
 public:
  // A split, and the edge that leads to it. Levels count from 0, the root.
  struct Step {
    int64_t split;  // its node
    int32_t level;
    int32_t column;
    float threshold;
    bool has_set;  // of categories, which decides instead of the threshold
    std::span<const uint32_t> set;
    int32_t feature;
    int32_t before;  // level whose edge asks for the same feature, above; 0: none does
    bool has_leaves;
    double lost_leaves;  // value of its leaves for rows that have failed an edge of its feature

    int32_t edge_feature;
    int32_t edge_before;
    bool edge_is_right;
    bool joins;         // the split above has a value already when this one is done
    double edge_share;  // of the documents at the split above
    int32_t n_done;     // splits that are done after this one, itself included
  };

  // What an edge replaces: z and 1 / f of the last edge by the same feature.
  struct EdgeBefore {
    double z;
    const double* inverse;  // null if there is none: then z, f and 1 / f are 1
  };

  // Numbers of a step: one for each point of the quadrature.
  enum Term {
    kEdgeMet,       // the edge's factor for rows that meet all its conditions, over the one of
    kEdgeFailed,    // the edge before; and for rows that fail the last condition only
    kEdgeWeighMet,  // (1 - z) / f, minus that of the edge before
    kEdgeWeighFailed,
    kLeavesLeft,  // as the first two, summed over leaves with their values, for rows that go left
    kLeavesRight,
    kLeavesWeighLeft,  // as the second two, times the first two, likewise
    kLeavesWeighRight,
    kEdgeInverse,  // 1 / f
    kTerms
  };

  TreeProgram(const CountedEnsemble& ensemble, const Columns& columns)
      : ensemble_(ensemble), columns_(columns) {}

  // Lays out another tree.
  void lay_out(int32_t tree, const Quadrature& quadrature);

  std::span<const Step> steps() const { return steps_; }
  const Quadrature& quadrature() const { return *quadrature_; }
  const double* terms(int64_t step, Term term) const {
    return terms_.data() + (step * kTerms + term) * quadrature_->padded;
  }

 private:
  void add_step(int32_t level, int64_t split);
  void add_edge(Step& step, int64_t number);
  void add_leaves(Step& step, int64_t number);
  EdgeBefore edge_before(int32_t level);
  double* terms(int64_t step, Term term) {
    return terms_.data() + (step * kTerms + term) * quadrature_->padded;
  }

  const CountedEnsemble& ensemble_;
  const Columns& columns_;
  const Quadrature* quadrature_ = nullptr;
  int64_t root_ = 0;
  double weight_ = 0;
  std::vector<Step> steps_;
  std::vector<double> terms_;
  std::vector<int64_t> path_;   // steps from the root
  std::vector<double> passes_;  // z of the edge to each of them
};

}  // namespace rankgrove
