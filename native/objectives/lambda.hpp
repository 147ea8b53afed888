// LambdaMART gradients: every pair of a query whose swap changes the metric, weighted by the
// change.
#pragma once

#include <cstdint>

#include "objectives/queries.hpp"

namespace rankgrove {

// Metrics, and the losses of LambdaLoss, whose pair weights stand in for changes of a metric.
enum class LambdaMetric {
  kNdcg,
  kAveragePrecision,
  kExpectedReciprocalRank,
  kReciprocalRank,
  kNdcgLoss1,
  kNdcgLoss2,
  kNdcgLoss2PlusPlus,
  kArpLoss1,
  kArpLoss2,
};

struct LambdaOptions {
  LambdaMetric metric;
  int64_t k;           // ranks that count in the metric
  int64_t truncation;  // pairs need at least one document above this rank
  double sigma;
  bool query_norm;       // scale a query by log2(1 + sum) / sum, sum over the lambdas of documents
  bool difference_norm;  // divide |delta| by 0.01 + |s_i - s_j|
  double mu;             // of NDCG-Loss2++
  double noise;          // scale of the logistic noise that is added to the scores; 0: none
};

// Factors of pairs by the position bias of their documents, and what the factors are estimated
// from. A pair of a better document i and a worse one j has the weight better[i] worse[j]. If costs
// are wanted (not null), its cost c = |delta| log(1 + exp(-sigma (s_i - s_j))) adds c worse[j] to
// better_cost[i] and c better[i] to worse_cost[j].
struct PairFactors {
  const double* better = nullptr;  // null: pairs have no factors
  const double* worse = nullptr;
  double* better_cost = nullptr;
  double* worse_cost = nullptr;
};

// value: see lambda_deltas.hpp. weight may be null. Fills gradients and hessians of all documents.
// Noise is drawn anew for each (seed, iteration, query).
void lambda_gradients(const Queries& queries, const double* scores, const float* value,
                      const double* weight, const LambdaOptions& options,
                      const PairFactors& factors, uint64_t seed, uint64_t iteration, int n_threads,
                      float* gradients, float* hessians);

}  // namespace rankgrove
