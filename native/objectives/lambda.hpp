// LambdaMART gradients: every pair of a query whose swap changes the metric, weighted by the
// change.
#pragma once

#include <cstdint>

#include "objectives/queries.hpp"

namespace rankgrove {

enum class LambdaMetric { kNdcg, kAveragePrecision, kExpectedReciprocalRank, kReciprocalRank };

struct LambdaOptions {
  LambdaMetric metric;
  int64_t k;           // ranks that count in the metric
  int64_t truncation;  // pairs need at least one document above this rank
  double sigma;
  bool query_norm;       // scale a query by log2(1 + sum) / sum, sum over the lambdas of documents
  bool difference_norm;  // divide |delta| by 0.01 + |s_i - s_j|
};

// value: see lambda_deltas.hpp. weight may be null. Fills gradients and hessians of all documents.
void lambda_gradients(const Queries& queries, const double* scores, const float* value,
                      const double* weight, const LambdaOptions& options, int n_threads,
                      float* gradients, float* hessians);

}  // namespace rankgrove
