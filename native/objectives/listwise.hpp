// Losses that look at a query's whole list of scores: centred squared error, cross entropies, and
// the cosine. weight may be null everywhere.
#pragma once

#include <cstdint>

#include "objectives/queries.hpp"

namespace rankgrove {

// 1/2 sum_i w_i (r_i - m)^2 with the residuals r = s - t and their weighted mean m in the query:
// gradient = w (r - m), hessian = w; hessians may be null (not wanted).
void centred_squared_error_gradients(const Queries& queries, const double* scores,
                                     const double* target, const double* weight, int n_threads,
                                     float* gradients, float* hessians);

// Cross entropy -sum_i t_i log p_i with p the softmax of beta s. Targets are not negative and need
// not sum to 1: with T their sum, gradient = beta (T p - t) and
// hessian = beta T (beta p (1 - p) + damping).
void cross_entropy_gradients(const Queries& queries, const double* scores, const double* target,
                             const double* weight, double beta, double damping, int n_threads,
                             float* gradients, float* hessians);

// (1 - alpha) L(s) + alpha L(s + b), with L the logistic loss of targets in [0, 1] and b the shift
// of the query that makes L(s + b) least: sum_i w_i (p_i - t_i) = 0 for p = sigmoid(s + b). With
// v = p (1 - p), the second part has gradient w (p - t) and Hessian w v (1 - w v / sum_j w_j v_j);
// it is 0 in queries whose targets are all 0 or all 1.
void shifted_logistic_gradients(const Queries& queries, const double* scores, const double* target,
                                const double* weight, double alpha, int n_threads, float* gradients,
                                float* hessians);

// Cross entropy with the target t_i proportional to gain_i + 1 - u_i, u_i uniform in [0, 1), drawn
// anew for each (seed, iteration, query): the NDCG bound of Bruch. terms = 1 is the plain gradient
// g = p - t. Each further term is one Jacobi step towards the Newton direction of the full Hessian
// diag(p) - p p': it adds p_i sum_{j != i} c_j, c = (the term before) / (1 - p), where 1 - p counts
// as at least 0.001. hessian = p (1 - p). Queries whose gains are all equal get 0.
void cross_entropy_ndcg_gradients(const Queries& queries, const double* scores, const double* gains,
                                  const double* weight, uint64_t seed, uint64_t iteration,
                                  int terms, int n_threads, float* gradients, float* hessians);

// 1/2 (1 - <s, G> / (|s| norm)), with one norm per query. The Hessian is that of Gauss and Newton
// for the equal loss |s / |s| - G / |G||^2 |G| / (4 norm) + constant: it is never negative. Scores
// that are all 0 have no direction: such a query is taken at s = (1, ..., 1). Norm 0 gives 0.
void cosine_gradients(const Queries& queries, const double* scores, const double* gains,
                      const double* norm, const double* weight, int n_threads, float* gradients,
                      float* hessians);

}  // namespace rankgrove
