// StochasticRank (Ustimenko and Prokhorenkova, "StochasticRank: Global Optimization of Scale-Free
// Discrete Functions", 2020): the gradient of a metric that Gaussian noise on the scores smooths.
#pragma once

#include <cstdint>

#include "objectives/lambda.hpp"
#include "objectives/queries.hpp"

namespace rankgrove {

struct SmoothingOptions {
  LambdaMetric metric;     // NDCG (also DCG), average precision, ERR or reciprocal rank
  double sigma;            // standard deviation of the noise, above 0
  double nu;               // added to the norm of a query's scores, above 0
  double sfa;              // share of the gradient along the scores that is subtracted
  int64_t n_permutations;  // draws of the noise
};

// The smoothed metric of a query is E M(s - penalty + sigma e), e standard normal. Given the noise
// of the other documents up to a common constant, the score of document j is normal around
// m_j = s_j - penalty_j + sigma mean(e_i, i != j) with the variance sigma^2 n / (n - 1), and the
// derivative of the conditional expectation is a sum over the other documents i: the change of M by
// j passing i, times the density at the score of i. Gradients are means over n_permutations draws,
// which follow from (seed, iteration, query).
//
// value: gains (over the ideal DCG for NDCG), probabilities of satisfaction (ERR) or relevance 0/1
// (average and reciprocal ranks). discount_drop[r] is the discount of rank r (from 0) minus that of
// rank r + 1; there are `depth` of them, and ranks below count nothing. weight may be null.
void stochasticrank_gradients(const Queries& queries, const double* scores, const float* value,
                              const double* penalty, const double* discount_drop, int64_t depth,
                              const SmoothingOptions& options, const double* weight, uint64_t seed,
                              uint64_t iteration, int n_threads, float* gradients);

}  // namespace rankgrove
