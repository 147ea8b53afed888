#include "objectives/yetirank.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "common/random.hpp"
#include "common/simd.hpp"
#include "objectives/array_math.hpp"
#include "objectives/ranking_order.hpp"

namespace rankgrove {
namespace {

// Scores this far below the best of their query count as this far, so that no exp() is 0.
constexpr double kDeepest = 600.0;

struct YetiScratch {
  explicit YetiScratch(size_t longest)
      : ranking(longest),
        mass(longest),
        uniform(longest),
        key(longest),
        gradient(longest),
        hessian(longest) {}
  RankingOrder ranking;
  std::vector<double> mass, uniform, key, gradient, hessian;
};

// exp(score + noise) = mass u / (1 - u) is positive, so its bits are ordered like its logarithm:
// spread evenly enough to be sorted by counting. 53 bits of them are an exact double.
RANKGROVE_SIMD void perturbed_keys(const double* mass, const double* uniform, size_t n,
                                   double* key) {
  for (size_t i = 0; i < n; ++i) {
    const double perturbed = mass[i] * uniform[i] / (1.0 - uniform[i]);
    key[i] = static_cast<double>(std::bit_cast<int64_t>(perturbed) >> 10);
  }
}

}  // namespace

void yetirank_gradients(const Queries& queries, const double* scores, const double* gains,
                        const double* rank_weight, const double* weight, int64_t n_permutations,
                        uint64_t seed, uint64_t iteration, int n_threads, float* gradients,
                        float* hessians) {
  const auto longest = static_cast<size_t>(queries.longest());
  const auto make_scratch = [&] { return YetiScratch(longest); };
  const uint64_t iteration_seed = seed ^ mix64(iteration);
  for_each_query(queries, n_threads, make_scratch, [&](int64_t q, YetiScratch& s) {
    const auto n = static_cast<size_t>(queries.size(q));
    const int64_t first = queries.offsets[q];
    const double* gain = gains + first;
    std::fill_n(s.gradient.begin(), n, 0.0);
    std::fill_n(s.hessian.begin(), n, 0.0);
    if (n > 1) {
      exp_array(scores + first, *std::max_element(scores + first, scores + first + n), 1.0, n,
                s.mass.data());
      for (size_t i = 0; i < n; ++i) s.mass[i] = std::max(s.mass[i], std::exp(-kDeepest));
      Random random(iteration_seed, static_cast<uint64_t>(q));
      for (int64_t permutation = 0; permutation < n_permutations; ++permutation) {
        for (size_t i = 0; i < n; ++i) s.uniform[i] = random.uniform();
        perturbed_keys(s.mass.data(), s.uniform.data(), n, s.key.data());
        const int32_t* order = s.ranking.sort(s.key.data(), n);
        for (size_t r = 0; r + 1 < n; ++r) {
          const int32_t upper = order[r];
          const int32_t lower = order[r + 1];
          const double difference = gain[upper] - gain[lower];
          if (difference == 0) continue;
          // P(the worse one wins), from either side; the signed difference turns the direction.
          const double sum = s.mass[upper] + s.mass[lower];
          const double loses = (difference > 0 ? s.mass[lower] : s.mass[upper]) / sum;
          const double pull = rank_weight[r] * difference * loses;
          const double bend = std::abs(pull) * (1.0 - loses);
          s.gradient[upper] -= pull;
          s.gradient[lower] += pull;
          s.hessian[upper] += bend;
          s.hessian[lower] += bend;
        }
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const double w = (weight ? weight[first + i] : 1.0) / static_cast<double>(n_permutations);
      gradients[first + i] = static_cast<float>(w * s.gradient[i]);
      hessians[first + i] = static_cast<float>(w * s.hessian[i]);
    }
  });
}

}  // namespace rankgrove
