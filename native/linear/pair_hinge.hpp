// The hinge loss of pairs: sums over all pairs of a query in O(n log n), never pair by pair.
//
// A pair is two documents of a query, the first with the higher label; its margin is the difference
// of their scores, and its loss max(0, 1 - margin), or the square of that. A pair counts by the
// product of its documents' factors.
//
// The pairs that a document violates are found by sweeping over the documents in order of score: a
// window of width 1 moves along, and the sums of the window are kept by label in a Fenwick tree.
#pragma once

#include <cstdint>
#include <vector>

#include "objectives/queries.hpp"

namespace rankgrove {

class PairHinge {
 public:
  // `factors` may be null. With `by_query`, every query counts as much as a single pair.
  PairHinge(const Queries& queries, const double* labels, const double* factors, bool squared,
            bool by_query);

  int64_t n_documents() const { return offsets_.back(); }

  // Fills dLoss/dscore and returns the loss of each query.
  std::vector<double> losses(const double* scores, int n_threads, double* gradients) const;

 private:
  struct Scratch;

  double query_loss(int64_t query, const double* scores, Scratch& scratch, double* gradients) const;

  std::vector<int64_t> offsets_;
  std::vector<int32_t> grades_;    // of each document: number of its label among the query's
  std::vector<int32_t> n_grades_;  // of each query
  std::vector<double> factors_;
  std::vector<double> query_factors_;
  bool squared_;
};

}  // namespace rankgrove
