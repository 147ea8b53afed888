// StochasticFilter (CatBoost): documents are kept at random by their scores, and the kept ones are
// shown in the order of the data.
#pragma once

#include <cstdint>

#include "objectives/queries.hpp"

namespace rankgrove {

// Document d is kept with the probability p_d = 1 / (1 + exp(-sigma s_d)). Gradients are those of
// minus the expected sum over the kept documents of label / position among the kept ones, which is
// the integral over x from 0 to 1 of sum_d p_d y_d prod_{c < d} (1 - p_c + p_c x). weight may be
// null.
void stochasticfilter_gradients(const Queries& queries, const double* scores, const double* labels,
                                double sigma, const double* weight, int n_threads,
                                float* gradients);

}  // namespace rankgrove
