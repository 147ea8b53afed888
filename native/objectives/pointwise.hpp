// Losses of single documents, over arrays. weight may be null (all 1).
//
// Classes number the grades of a data set from 0. Matrices of scores, gradients and Hessians hold
// one row per output and one column per document.
#pragma once

#include <cstdint>

namespace rankgrove {

// gradient = w (s - t), hessian = w; hessians may be null (not wanted).
void squared_error_gradients(const double* scores, const double* target, const double* weight,
                             int64_t n, int n_threads, float* gradients, float* hessians);

// One output per class, p = softmax over the outputs of a document:
// gradient = p_k - [class = k], hessian = p_k (1 - p_k) K / (K - 1).
void multiclass_gradients(const double* scores, const int32_t* classes, const double* weight,
                          int32_t n_classes, int64_t n, int n_threads, float* gradients,
                          float* hessians);

// One output per class but the lowest, p_k = sigmoid(s_k) = P(class >= k):
// gradient = p_k - [class >= k], hessian = p_k (1 - p_k).
void ordinal_gradients(const double* scores, const int32_t* classes, const double* weight,
                       int32_t n_classes, int64_t n, int n_threads, float* gradients,
                       float* hessians);

// Expected gain of each document under either model.
void expected_gain(const double* scores, const double* gains, int32_t n_classes, bool ordinal,
                   int64_t n, int n_threads, double* expected);

}  // namespace rankgrove
