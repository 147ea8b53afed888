// Exact Shapley values of tree ensembles: of the features of each row, and of pairs of them.
//
// The game is that of path-dependent TreeSHAP (Lundberg et al. 2020): a feature that is not known
// sends a row down both sides of its splits, in proportion to the training documents that went
// there. A leaf of value v whose path asks for the features D gives
//   phi_i = v (o_i - z_i) * sum over S in D\{i} of |S|! (|D|-|S|-1)! / |D|!
//                                                * prod_{j in S} o_j * prod_{j not in S, j != i}
//                                                z_j
// to feature i, where z_j is the share of documents that pass the path's splits by j, and o_j is 1
// if the row passes them, else 0. The fraction is the integral of t^|S| (1-t)^(|D|-|S|-1) over
// [0, 1], hence
//   phi_i = v (o_i - z_i) * integral of prod_{j in D\{i}} f_j,   f_j = t o_j + (1-t) z_j,
// of a polynomial of degree |D|-1, which a quadrature of |D|/2 points gives exactly. So the product
// P of all f_j goes down the tree, for each point; the sum H of v P over the leaves below comes up
// again; and an edge by feature i adds the sum of H (o_i - z_i) / f_i to phi_i. A further edge by
// the same feature on a path puts its own f_i into P, and takes away what the one before will add.
// Time is linear in the number of nodes (as in Linear TreeSHAP, Yu et al. 2022), sums lose no
// digits, and the rows of a pack go through the tree together.
//
// Interactions are those of shap: phi_ij is half of the integral of v (o_i - z_i) (o_j - z_j) times
// the product of the other f, and phi_ii is what remains of phi_i.
#pragma once

#include <cstdint>

#include "explain/tree_program.hpp"
#include "scoring/columns.hpp"

namespace rankgrove {

// Fills scores[output] with the mean score of the training documents, as the counts have it.
void expected_scores(const CountedEnsemble& ensemble, double* scores);

// Adds to effects[(row * n_outputs + output) * n_features + feature]; or, with `pairs`, to
// effects[((row * n_outputs + output) * n_features + feature) * n_features + other feature].
template <typename T>
void add_shapley_values(const CountedEnsemble& ensemble, const MissingPolicy& policy,
                        const StridedRows<T>& matrix, bool pairs, int n_threads, double* effects);

}  // namespace rankgrove
