// Scores rows with a tree ensemble: prepared once, then used from any number of threads.
//
// The score of an output is its base score, plus the weighted leaf values of its trees in tree
// order, in float64. Every way to find the leaves gives the same leaves and the same order of
// additions, so the scores are the same bits for every method, batch size and number of threads.
// Values are compared in float32, or in float64 if the ensemble has precise thresholds.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "scoring/bit_trees.hpp"
#include "scoring/columns.hpp"
#include "scoring/ensemble.hpp"
#include "scoring/walker.hpp"

namespace rankgrove {

// How leaves are found. `fastest` takes bit vectors for the trees that they fit and walks the
// others.
enum class ScoringMethod { kFastest, kWalk };

class Scorer {
 public:
  // The ensemble has been checked. vector_bits: the widest vector registers that may be used; all
  // give the same bits.
  Scorer(const EnsembleArrays& ensemble, const MissingPolicy& policy, ScoringMethod method,
         int32_t vector_bits);

  // Fills scores[row * n_outputs + output]. With `go_on`, the trees' values are added to the
  // scores, as if these came from earlier trees of the model.
  template <typename T>
  void predict(const StridedRows<T>& matrix, int n_threads, bool go_on, double* scores) const;

  int64_t n_features() const { return n_features_; }
  int32_t n_outputs() const { return static_cast<int32_t>(base_score_.size()); }

 private:
  template <typename T>
  void score_block(const StridedRows<T>& matrix, int32_t n_rows, bool go_on, double* scores) const;

  int64_t n_features_;
  double nanoseconds_per_row_ = 10.0;
  std::vector<double> base_score_;
  std::vector<std::variant<BitTrees<float>, BitTrees<double>, Walker>> segments_;  // in tree order
  bool walks_ = false;  // one of them is a Walker
};

}  // namespace rankgrove
