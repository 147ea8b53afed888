// RankBoost's weights of pairs, summed per document (Freund, Iyer, Schapire and Singer 2003).
//
// A pair is two documents of a query with different labels; it weighs exp(score of the lower one -
// score of the higher one), times the factors of both. The *potential* of a document is the weight
// of the pairs in which it is the higher one, less that of those in which it is the lower one. As
// the weight of a pair is a product, sums over sorted labels give all potentials in O(n).
#pragma once

#include <cstdint>
#include <vector>

#include "objectives/queries.hpp"

namespace rankgrove {

class PairPotentials {
 public:
  // `factors` may be null.
  PairPotentials(const Queries& queries, const double* labels, const double* factors);

  int64_t n_documents() const { return offsets_.back(); }

  // Fills the potentials and returns the weight of all pairs of each query.
  std::vector<double> compute(const double* scores, int n_threads, double* potentials) const;

 private:
  std::vector<int64_t> offsets_;
  std::vector<int32_t> order_;  // documents of each query by ascending label
  std::vector<uint8_t> rises_;  // whether the label is above that of the document before
  std::vector<double> factors_;
};

}  // namespace rankgrove
