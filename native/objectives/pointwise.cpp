#include "objectives/pointwise.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kBlock = 4096;

}  // namespace

void squared_error_gradients(const double* scores, const double* target, const double* weight,
                             int64_t n, int n_threads, float* gradients, float* hessians) {
  parallel_for((n + kBlock - 1) / kBlock, n_threads, 4, [&](int64_t block) {
    const int64_t begin = block * kBlock;
    const int64_t end = std::min(n, begin + kBlock);
    for (int64_t i = begin; i < end; ++i) {
      const double residual = scores[i] - target[i];
      gradients[i] = static_cast<float>(weight ? weight[i] * residual : residual);
    }
    if (hessians) {
      for (int64_t i = begin; i < end; ++i) {
        hessians[i] = weight ? static_cast<float>(weight[i]) : 1.0f;
      }
    }
  });
}

}  // namespace rankgrove
