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
//
// The loop takes two rows of pairs at a time, so that the sums of the documents below are read and
// written once for both. It goes over whole blocks of eight documents, j = 0..7, 8..15, ...: blocks
// that began at i + 1 would overlap those that the row before has just written, and a processor
// waits for such writes to end. The first block of a row also has documents above it, which it
// leaves out. Example: the rows i = 2 and i = 3 of 12 documents take the blocks 0..7 (of which
// j = 3..7 belong to the first row and 4..7 to the second) and 8..15 (12..15 are padding).
#pragma once

#include <cstddef>

namespace rankgrove {

// Arrays in rank order are readable and writable up to a multiple of this many documents.
constexpr size_t kPairBlock = 8;

// The pairs of a document with all documents below it.
struct PairRow {
  size_t document = 0;
  const float* delta = nullptr;
};

struct PairSums {
  float gradient = 0;  // of the row's document, without the factor sigma
  float hessian = 0;   // of the row's document, without the factor sigma^2
  float lambda = 0;    // sum of the pairs' |delta| rho
};

struct TwoPairSums {
  PairSums first, second;
};

// Adds the pairs of two rows with the documents below them, up to n, to gradient[j] and hessian[j],
// without the factors sigma and sigma^2, and returns the sums that belong to the rows' documents.
// The rows are of the same document, or of two that follow each other. score holds s_j - s_first.
// If regularised, |delta| is divided by 0.01 + |s_i - s_j|. In the block that n cuts, deltas from n
// on must be 0, decays and scores finite and no score above that of document n - 1.
TwoPairSums add_pairs(const PairRow& first, const PairRow& second, const float* decay,
                      const float* score, size_t n, bool regularised, float* gradient,
                      float* hessian);

}  // namespace rankgrove
