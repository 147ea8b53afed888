// The squared-error scores of many candidate splits at once, from packed sums.
#pragma once

#include <cstdint>

namespace rankgrove::forests {

// How a 64-bit word holds a number of documents and a sum of targets.
struct PackedFields {
  int sum_bits;  // the lowest; the rest counts
  double step;   // value of one unit of the sum
};

// Scores of both children for n candidate splits, given the packed sums of their left sides, which
// are neither empty nor all; -inf where a child has fewer than min_documents. Returns the greatest.
// `left` and `score` have a capacity of padded_size(n) entries.
double squared_error_scores(PackedFields fields, uint64_t* left, int64_t n, uint64_t total,
                            double min_documents, double* score);

// Whether any of them might score more than `score`; quicker, and always true if one does.
bool may_score_more(PackedFields fields, uint64_t* left, int64_t n, uint64_t total, double score);

// Whole vectors.
inline int64_t padded_size(int64_t n) { return (n + 3) / 4 * 4; }

}  // namespace rankgrove::forests
