#include "objectives/pointwise.hpp"

#include <algorithm>
#include <vector>

#include "common/parallel.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kBlock = 1024;

constexpr double kNanosecondsPerError = 2.0;  // of a document
constexpr double kNanosecondsPerClass = 8.0;  // of a document in a class

// Calls body(first document, number of documents) for consecutive blocks of documents; a
// document costs `nanoseconds`.
template <typename Body>
void for_each_block(int64_t n, int n_threads, double nanoseconds, Body&& body) {
  parallel_for((n + kBlock - 1) / kBlock, n_threads, nanoseconds * kBlock, [&](int64_t block) {
    body(block * kBlock, static_cast<size_t>(std::min(kBlock, n - block * kBlock)));
  });
}

// p[k * kBlock + i] = probability of class k for document i of the block.
void softmax_block(const double* scores, int32_t n_classes, int64_t n, int64_t first, size_t size,
                   std::vector<double>& p) {
  p.resize(static_cast<size_t>(n_classes + 2) * kBlock);
  double* highest = p.data() + static_cast<size_t>(n_classes) * kBlock;
  double* sum = highest + kBlock;
  std::copy_n(scores + first, size, highest);
  for (int32_t k = 1; k < n_classes; ++k) {
    const double* row = scores + k * n + first;
    for (size_t i = 0; i < size; ++i) highest[i] = std::max(highest[i], row[i]);
  }
  std::fill_n(sum, size, 0.0);
  for (int32_t k = 0; k < n_classes; ++k) {
    double* out = p.data() + static_cast<size_t>(k) * kBlock;
    const double* row = scores + k * n + first;
    for (size_t i = 0; i < size; ++i) out[i] = row[i] - highest[i];
    exp_array(out, 0.0, 1.0, size, out);
    for (size_t i = 0; i < size; ++i) sum[i] += out[i];
  }
  for (int32_t k = 0; k < n_classes; ++k) {
    double* out = p.data() + static_cast<size_t>(k) * kBlock;
    for (size_t i = 0; i < size; ++i) out[i] /= sum[i];
  }
}

void sigmoid_block(const double* scores, size_t size, std::vector<double>& p) {
  p.resize(kBlock);
  exp_array(scores, 0.0, -1.0, size, p.data());
  for (size_t i = 0; i < size; ++i) p[i] = 1.0 / (1.0 + p[i]);
}

}  // namespace

void squared_error_gradients(const double* scores, const double* target, const double* weight,
                             int64_t n, int n_threads, float* gradients, float* hessians) {
  for_each_block(n, n_threads, kNanosecondsPerError, [&](int64_t first, size_t size) {
    for (int64_t i = first; i < first + static_cast<int64_t>(size); ++i) {
      const double residual = scores[i] - target[i];
      gradients[i] = static_cast<float>(weight ? weight[i] * residual : residual);
      if (hessians) hessians[i] = weight ? static_cast<float>(weight[i]) : 1.0f;
    }
  });
}

void multiclass_gradients(const double* scores, const int32_t* classes, const double* weight,
                          int32_t n_classes, int64_t n, int n_threads, float* gradients,
                          float* hessians) {
  const double factor = static_cast<double>(n_classes) / (n_classes - 1);
  for_each_block(n, n_threads, kNanosecondsPerClass * n_classes, [&](int64_t first, size_t size) {
    std::vector<double> probability;
    softmax_block(scores, n_classes, n, first, size, probability);
    for (int32_t k = 0; k < n_classes; ++k) {
      const double* p = probability.data() + static_cast<size_t>(k) * kBlock;
      float* g = gradients + k * n + first;
      float* h = hessians + k * n + first;
      for (size_t i = 0; i < size; ++i) {
        const double w = weight ? weight[first + i] : 1.0;
        g[i] = static_cast<float>(w * (p[i] - (classes[first + i] == k ? 1.0 : 0.0)));
        h[i] = static_cast<float>(w * factor * (p[i] * (1.0 - p[i])));
      }
    }
  });
}

void ordinal_gradients(const double* scores, const int32_t* classes, const double* weight,
                       int32_t n_classes, int64_t n, int n_threads, float* gradients,
                       float* hessians) {
  for_each_block(n, n_threads, kNanosecondsPerClass * n_classes, [&](int64_t first, size_t size) {
    std::vector<double> p;
    for (int32_t k = 1; k < n_classes; ++k) {
      const int64_t row = (k - 1) * n + first;
      sigmoid_block(scores + row, size, p);
      for (size_t i = 0; i < size; ++i) {
        const double w = weight ? weight[first + i] : 1.0;
        gradients[row + i] = static_cast<float>(w * (p[i] - (classes[first + i] >= k ? 1.0 : 0.0)));
        hessians[row + i] = static_cast<float>(w * (p[i] * (1.0 - p[i])));
      }
    }
  });
}

void expected_gain(const double* scores, const double* gains, int32_t n_classes, bool ordinal,
                   int64_t n, int n_threads, double* expected) {
  for_each_block(n, n_threads, kNanosecondsPerClass * n_classes, [&](int64_t first, size_t size) {
    std::vector<double> p;
    double* out = expected + first;
    if (ordinal) {
      std::fill_n(out, size, gains[0]);
      for (int32_t k = 1; k < n_classes; ++k) {
        sigmoid_block(scores + (k - 1) * n + first, size, p);
        for (size_t i = 0; i < size; ++i) out[i] += (gains[k] - gains[k - 1]) * p[i];
      }
    } else {
      softmax_block(scores, n_classes, n, first, size, p);
      std::fill_n(out, size, 0.0);
      for (int32_t k = 0; k < n_classes; ++k) {
        for (size_t i = 0; i < size; ++i) {
          out[i] += gains[k] * p[static_cast<size_t>(k) * kBlock + i];
        }
      }
    }
  });
}

}  // namespace rankgrove
