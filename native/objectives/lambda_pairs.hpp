// The one pair loop of every LambdaMART metric.
//
// Vocabulary: documents of one query stand in *rank order* (index 0 has the highest score). For a
// document i and the documents j > i below it, delta[j] is the signed change of the metric,
// metric(now) - metric(i and j swapped): positive if i deserves its place above j, 0 if the labels
// are equal. With e = exp(-sigma (s_i - s_j)) and q = 1 / (1 + e),
//
//   rho     = P(the worse document wins) = e q if i is the better one, q otherwise,
//   lambda  = sigma |delta| rho          (pulls the better document up, the worse one down),
//   hessian = sigma^2 |delta| e q^2      (for both documents).
//
// e comes without an exp() per pair: decay[j] = exp(-sigma (s_base - s_j)) is computed once per
// document for a base not far above i, and e = decay[j] / decay[i].
#pragma once

#include <cstddef>

namespace rankgrove {

constexpr size_t kPairPadding = 8;  // arrays in rank order are readable and writable this far

struct PairSums {
  float gradient = 0;  // of document i, without the factor sigma
  float hessian = 0;   // of document i, without the factor sigma^2
  float lambda = 0;    // sum of the pairs' |delta| rho
};

// Adds the pairs of document i with documents [i + 1, n) to gradient[j] and hessian[j], without the
// factors sigma and sigma^2, and returns the sums that belong to document i. score holds
// s_j - s_first. If regularised, |delta| is divided by 0.01 + |s_i - s_j|. Entries of delta in
// [n, n + kPairPadding) must be 0, those of decay and score finite, score not above score[i].
PairSums add_pairs(const float* delta, const float* decay, const float* score, size_t i, size_t n,
                   bool regularised, float* gradient, float* hessian);

}  // namespace rankgrove
