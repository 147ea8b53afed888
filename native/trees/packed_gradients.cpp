#include "trees/packed_gradients.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "common/fixed_point.hpp"
#include "common/parallel.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kBlock = 4096;
constexpr double kNanosecondsPerRow = 1.0;

// The key of rows from a multiple of 2^32 on, whose lower halves are hashed with it.
inline uint32_t key_of_rows(uint32_t key, int64_t row) {
  return key ^ (static_cast<uint32_t>(row >> 32) * 0x9e3779b9u);
}

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
  return total > 0.0 ? power_of_two_below(static_cast<double>(limit - n) / total) : 1.0;
}

RANKGROVE_SIMD void pack_block(const float* gradients, const float* hessians, int64_t begin,
                               int64_t end, int64_t first_row, double gradient_scale,
                               double hessian_scale, uint32_t gradient_key, uint32_t hessian_key,
                               int64_t* words) {
  for (int64_t i = begin; i < end; ++i) {
    const auto row = static_cast<uint32_t>(first_row + i);
    const double g = std::floor(gradients[i] * gradient_scale + row_uniform(row, gradient_key));
    const double positive = hessians[i] > 0.0f ? hessians[i] : 0.0f;
    const double h = std::floor(positive * hessian_scale + row_uniform(row, hessian_key));
    words[i] = static_cast<int64_t>(static_cast<int32_t>(g)) * (int64_t{1} << kHessianBits) +
               static_cast<int32_t>(h);
  }
}

RANKGROVE_SIMD void pack_block_counts(const float* gradients, int64_t begin, int64_t end,
                                      int64_t first_row, double gradient_scale,
                                      uint32_t gradient_key, int64_t* words) {
  for (int64_t i = begin; i < end; ++i) {
    const auto row = static_cast<uint32_t>(first_row + i);
    const double g = std::floor(gradients[i] * gradient_scale + row_uniform(row, gradient_key));
    words[i] = static_cast<int64_t>(static_cast<int32_t>(g)) * (int64_t{1} << kHessianBits) + 1;
  }
}

// The bits of the largest absolute value; those of floats of one sign are ordered like integers.
RANKGROVE_SIMD uint32_t largest_bits(const float* values, int64_t begin, int64_t end) {
  uint32_t largest = 0;
  for (int64_t i = begin; i < end; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  }
  return largest;
}

// Sum of the whole parts of |value| * scale, which are below 2^31.
RANKGROVE_SIMD int64_t sum_whole_parts(const float* values, int64_t begin, int64_t end,
                                       double scale) {
  int64_t sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    sum += static_cast<int32_t>(std::fabs(static_cast<double>(values[i])) * scale);
  }
  return sum;
}

template <typename Result, typename OfBlock, typename Combine>
Result over_blocks(int64_t n, int n_threads, OfBlock&& of_block, Combine&& combine) {
  std::vector<Result> results((n + kBlock - 1) / kBlock);
  parallel_for(
      static_cast<int64_t>(results.size()), n_threads, kNanosecondsPerRow * kBlock,
      [&](int64_t b) { results[b] = of_block(b * kBlock, std::min(n, (b + 1) * kBlock)); });
  Result result{};
  for (const Result& one : results) result = combine(result, one);
  return result;
}

// The bits of this worker's largest absolute value, which must be finite.
int64_t checked_largest(const float* values, int64_t n, const char* what, int n_threads) {
  if (!values) return 0;
  constexpr uint32_t kInfinity = 0x7f800000u;
  const auto largest = over_blocks<uint32_t>(
      n, n_threads, [&](int64_t begin, int64_t end) { return largest_bits(values, begin, end); },
      [](uint32_t a, uint32_t b) { return std::max(a, b); });
  for (int64_t i = 0; largest >= kInfinity && i < n; ++i) {
    if (!std::isfinite(values[i])) {
      throw std::invalid_argument(std::string("the objective gave a ") + what + " of " +
                                  std::to_string(values[i]) + " for row " + std::to_string(i));
    }
  }
  return largest;
}

// Gradients or Hessians of all workers: their largest absolute value, and a bound of the sum of
// absolute values, found by integers.
struct Magnitude {
  const float* values;
  double largest = 0.0;
  double scale = 1.0;  // with which the sum is taken

  Magnitude(const float* all_values, int64_t largest_in_bits, int64_t n_rows)
      : values(all_values),
        largest(std::bit_cast<float>(static_cast<uint32_t>(largest_in_bits))),
        scale(std::min(fixed_point_scale(largest, 1, 31), fixed_point_scale(largest, n_rows, 62))) {
  }
  int64_t sum(int64_t n, int n_threads) const {
    if (!values) return 0;
    return over_blocks<int64_t>(
        n, n_threads,
        [&](int64_t begin, int64_t end) { return sum_whole_parts(values, begin, end, scale); },
        [](int64_t a, int64_t b) { return a + b; });
  }
  double bound(int64_t total_sum, int64_t n_rows) const {
    return largest > 0.0 ? static_cast<double>(total_sum + n_rows) / scale : 0.0;
  }
};

}  // namespace

void pack_gradients(const float* gradients, const float* hessians, int64_t n, const RowShare& share,
                    const GradientOptions& options, PackedGradients& packed) {
  const int n_threads = options.n_threads;
  int64_t largest[] = {checked_largest(gradients, n, "gradient", n_threads),
                       checked_largest(hessians, n, "Hessian", n_threads)};
  share.maximum(largest, 2);
  const Magnitude gradient(gradients, largest[0], share.n_rows);
  const Magnitude hessian(hessians, largest[1], share.n_rows);
  packed.counts_rows = options.count_rows || !hessians;
  int64_t sums[] = {gradient.sum(n, n_threads), packed.counts_rows ? 0 : hessian.sum(n, n_threads),
                    options.n_sampled};
  share.sum(sums, 3);
  packed.n_sampled = sums[2];
  packed.gradient_scale64 = fixed_point_scale(gradient.largest, share.n_rows, 62);
  packed.hessian_scale64 = fixed_point_scale(hessian.largest, share.n_rows, 62);
  const auto scale_of = [&](const Magnitude& magnitude, int64_t sum, int bits) {
    if (share.n_rows < kWideRows) {
      return power_of_two_scale(magnitude.bound(sum, share.n_rows), share.n_rows,
                                (int64_t{1} << bits) - 1);
    }
    const double most = std::ldexp(1.0 / kWideChunk, bits - 1);
    return magnitude.largest > 0.0 ? power_of_two_below(most / magnitude.largest) : 1.0;
  };
  const double gradient_scale = scale_of(gradient, sums[0], 31);
  const double hessian_scale = packed.counts_rows ? 1.0 : scale_of(hessian, sums[1], kHessianBits);
  packed.gradient_unit = 1.0 / gradient_scale;
  packed.hessian_unit = 1.0 / hessian_scale;
  packed.words.resize(n);
  const auto gradient_key = static_cast<uint32_t>(mix64(options.seed));
  const auto hessian_key = static_cast<uint32_t>(mix64(options.seed ^ 0x5bd1e995u));
  const auto pack = [&](int64_t begin, int64_t end) {
    const uint32_t own_gradient_key = key_of_rows(gradient_key, share.first_row + begin);
    const uint32_t own_hessian_key = key_of_rows(hessian_key, share.first_row + begin);
    if (packed.counts_rows) {
      pack_block_counts(gradients, begin, end, share.first_row, gradient_scale, own_gradient_key,
                        packed.words.data());
    } else {
      pack_block(gradients, hessians, begin, end, share.first_row, gradient_scale, hessian_scale,
                 own_gradient_key, own_hessian_key, packed.words.data());
    }
  };
  parallel_for((n + kBlock - 1) / kBlock, n_threads, kNanosecondsPerRow * kBlock, [&](int64_t b) {
    const int64_t begin = b * kBlock, end = std::min(n, begin + kBlock);
    const int64_t next_key = (((share.first_row + begin) >> 32) + 1) * (int64_t{1} << 32);
    const int64_t middle = std::min(end, next_key - share.first_row);
    pack(begin, middle);
    pack(middle, end);
  });
}

}  // namespace rankgrove
