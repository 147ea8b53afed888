#include "trees/packed_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "common/parallel.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kBlock = 16384;
constexpr double kNanosecondsPerRow = 1.0;

// A uniform number in [0, 1) for this row: a hash, so that it needs no state and no order.
inline double row_uniform(uint32_t row, uint32_t key) {
  uint32_t x = row ^ key;
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  x ^= x >> 16;
  return static_cast<int32_t>(x >> 8) * 0x1.0p-24;
}

// The largest power of two s with s * total + n <= limit.
double power_of_two_scale(double total, int64_t n, int64_t limit) {
  if (total <= 0.0) return 1.0;
  const double room = static_cast<double>(limit - n) / total;
  return std::exp2(std::clamp(std::floor(std::log2(room)), -1000.0, 1000.0));
}

RANKGROVE_SIMD void pack_block(const float* gradients, const float* hessians, int64_t begin,
                               int64_t end, double gradient_scale, double hessian_scale,
                               uint32_t gradient_key, uint32_t hessian_key, int64_t* words) {
  for (int64_t i = begin; i < end; ++i) {
    const auto row = static_cast<uint32_t>(i);
    const double g = std::floor(gradients[i] * gradient_scale + row_uniform(row, gradient_key));
    const double positive = hessians[i] > 0.0f ? hessians[i] : 0.0f;
    const double h = std::floor(positive * hessian_scale + row_uniform(row, hessian_key));
    words[i] = static_cast<int64_t>(static_cast<int32_t>(g)) * (int64_t{1} << kHessianBits) +
               static_cast<int32_t>(h);
  }
}

RANKGROVE_SIMD void pack_block_counts(const float* gradients, int64_t begin, int64_t end,
                                      double gradient_scale, uint32_t gradient_key,
                                      int64_t* words) {
  for (int64_t i = begin; i < end; ++i) {
    const double g = std::floor(gradients[i] * gradient_scale +
                                row_uniform(static_cast<uint32_t>(i), gradient_key));
    words[i] = static_cast<int64_t>(static_cast<int32_t>(g)) * (int64_t{1} << kHessianBits) + 1;
  }
}

RANKGROVE_SIMD double sum_absolute(const float* values, int64_t begin, int64_t end) {
  double sums[4] = {0.0, 0.0, 0.0, 0.0};
  for (int64_t i = begin; i < end; ++i) sums[i & 3] += std::fabs(static_cast<double>(values[i]));
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Sum of |values|, by blocks in a fixed order.
double total_absolute(const float* values, int64_t n, const char* what, int n_threads) {
  std::vector<double> sums((n + kBlock - 1) / kBlock);
  parallel_for(static_cast<int64_t>(sums.size()), n_threads, kNanosecondsPerRow * kBlock,
               [&](int64_t b) {
                 sums[b] = sum_absolute(values, b * kBlock, std::min(n, (b + 1) * kBlock));
               });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  if (!std::isfinite(total)) {
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(values[i])) {
        throw std::invalid_argument(std::string("the objective gave a ") + what + " of " +
                                    std::to_string(values[i]) + " for row " + std::to_string(i));
      }
    }
  }
  return total;
}

}  // namespace

void pack_gradients(const float* gradients, const float* hessians, int64_t n, uint64_t seed,
                    int n_threads, PackedGradients& packed) {
  const double gradient_scale = power_of_two_scale(
      total_absolute(gradients, n, "gradient", n_threads), n, (int64_t{1} << 31) - 1);
  const double hessian_scale =
      hessians ? power_of_two_scale(total_absolute(hessians, n, "Hessian", n_threads), n,
                                    (int64_t{1} << kHessianBits) - 1)
               : 1.0;
  packed.gradient_unit = 1.0 / gradient_scale;
  packed.hessian_unit = 1.0 / hessian_scale;
  packed.counts_rows = hessians == nullptr;
  packed.words.resize(n);
  const auto gradient_key = static_cast<uint32_t>(mix64(seed));
  const auto hessian_key = static_cast<uint32_t>(mix64(seed ^ 0x5bd1e995u));
  parallel_for((n + kBlock - 1) / kBlock, n_threads, kNanosecondsPerRow * kBlock, [&](int64_t b) {
    const int64_t end = std::min(n, (b + 1) * kBlock);
    if (hessians) {
      pack_block(gradients, hessians, b * kBlock, end, gradient_scale, hessian_scale, gradient_key,
                 hessian_key, packed.words.data());
    } else {
      pack_block_counts(gradients, b * kBlock, end, gradient_scale, gradient_key,
                        packed.words.data());
    }
  });
}

}  // namespace rankgrove
