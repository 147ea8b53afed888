// Scores rows with a tree ensemble: prepared once, then used from any number of threads.
//
// The score of an output is its base score, plus the weighted leaf values of its trees in tree
// order, in float64. Every way to find the leaves gives the same leaves and the same order of
// additions, so the scores are the same bits for every method, batch size and number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "scoring/columns.hpp"
#include "scoring/ensemble.hpp"
#include "scoring/walker.hpp"

namespace rankgrove {

class Scorer {
 public:
  // The ensemble has been checked.
  Scorer(const EnsembleArrays& ensemble, const MissingPolicy& missing);

  // Fills scores[row * n_outputs + output].
  template <typename T>
  void predict(const MatrixView<T>& matrix, int n_threads, double* scores) const;

  int64_t n_features() const { return n_features_; }
  int32_t n_outputs() const { return static_cast<int32_t>(base_score_.size()); }

 private:
  template <typename T>
  void score_block(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows,
                   double* scores) const;

  int64_t n_features_;
  std::vector<double> base_score_;
  Walker walker_;
};

}  // namespace rankgrove
