// YetiRank (Gulin, Kuralenok and Pavlov, "Winning The Transfer Learning Track of Yahoo!'s Learning
// To Rank Challenge with YetiRank", 2011): neighbours in randomly perturbed rankings form the
// pairs.
#pragma once

#include <cstdint>

#include "objectives/lambda.hpp"
#include "objectives/queries.hpp"

namespace rankgrove {

// For each of n_permutations: sort by s + log(u / (1 - u)), u uniform, drawn anew for each (seed,
// iteration, query). Neighbours at ranks r and r + 1 (from 0) whose gains differ form a pair of
// weight rank_weight[r] |gain difference| / n_permutations, with the logistic loss
// log(1 + exp(s_worse - s_better)). rank_weight reaches to the longest query; weight may be null.
void yetirank_gradients(const Queries& queries, const double* scores, const double* gains,
                        const double* rank_weight, const double* weight, int64_t n_permutations,
                        uint64_t seed, uint64_t iteration, int n_threads, float* gradients,
                        float* hessians);

// YetiLoss (Lyzhin, Ustimenko, Gulin and Prokhorenkova, "Which Tricks Are Important for Learning to
// Rank?", 2023): the same, with pairs weighted by the change of a metric, cut at k, when the two
// neighbours swap places in the perturbed ranking. value: see lambda_deltas.hpp.
void yetiloss_gradients(const Queries& queries, const double* scores, const float* value,
                        LambdaMetric metric, int64_t k, const double* weight,
                        int64_t n_permutations, uint64_t seed, uint64_t iteration, int n_threads,
                        float* gradients, float* hessians);

// For metrics whose changes have no kernel, in two steps. The perturbed rankings: orders holds the
// numbers of a query's documents (from 0) by rank, at its rows, for one permutation after the
// other.
void perturbed_rankings(const Queries& queries, const double* scores, int64_t n_permutations,
                        uint64_t seed, uint64_t iteration, int n_threads, int32_t* orders);

// The gradients of the same rankings. changes[row of rank r] is the gain of the metric because the
// document at rank r is above its lower neighbour; the last row of a query is not read.
void ranked_change_gradients(const Queries& queries, const double* scores, const double* changes,
                             const double* weight, int64_t n_permutations, uint64_t seed,
                             uint64_t iteration, int n_threads, float* gradients, float* hessians);

}  // namespace rankgrove
