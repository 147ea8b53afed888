// Pairwise logistic loss over all pairs of a query whose labels differ.
#pragma once

#include <cstdint>

#include "objectives/queries.hpp"

namespace rankgrove {

// The loss is sum over pairs y_i > y_j of (y_i - y_j)^power log(1 + exp(s_j - s_i)). With
// rho = 1 / (1 + exp(s_i - s_j)) and w the weight of the pair, it has the gradients -w rho (of i)
// and w rho (of j), and the Hessian w rho (1 - rho) of both.
//
// `order` lists the documents of each query from the highest label to the lowest, as positions in
// the query: those that are better than a document then stand before it, those that are worse
// behind it. Work is divided into blocks of documents, so that threads share a long query too; each
// document adds up its own pairs, so that no result depends on the division. A query of n documents
// takes n^2 terms in single precision, summed in double precision every kPairChunk terms.
void pair_logit_gradients(const Queries& queries, const double* scores, const double* labels,
                          const int32_t* order, const double* weight, double power, int n_threads,
                          float* gradients, float* hessians);

}  // namespace rankgrove
