// Losses of single documents, over arrays.
#pragma once

#include <cstdint>

namespace rankgrove {

// gradient = w (s - t), hessian = w; weight and hessians may be null (w = 1; Hessians not wanted).
void squared_error_gradients(const double* scores, const double* target, const double* weight,
                             int64_t n, int n_threads, float* gradients, float* hessians);

}  // namespace rankgrove
