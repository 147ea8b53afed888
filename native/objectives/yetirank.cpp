#include "objectives/yetirank.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "common/random.hpp"
#include "common/simd.hpp"
#include "metrics/ranking_order.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

// Scores this far below the best of their query count as this far, so that no exp() is 0.
constexpr double kDeepest = 600.0;

struct YetiScratch {
  explicit YetiScratch(size_t longest)
      : mass(longest),
        uniform(longest),
        key(longest),
        sorted_mass(longest),
        sorted_gain(longest),
        pull(longest),
        bend(longest),
        gradient(longest),
        hessian(longest) {}
  RankingOrder ranking;
  std::vector<double> mass, uniform, key, sorted_mass, sorted_gain, pull, bend, gradient, hessian;
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

// Gradient and Hessian of the pair (r, r + 1), by the signed difference of their gains: pull is
// what r gains and r + 1 loses.
RANKGROVE_SIMD void neighbour_pairs(const double* mass, const double* gain,
                                    const double* rank_weight, size_t n_pairs, double* pull,
                                    double* bend) {
  for (size_t r = 0; r < n_pairs; ++r) {
    const double upper = mass[r];
    const double lower = mass[r + 1];
    const double difference = gain[r] - gain[r + 1];
    const double wrong = (difference > 0 ? lower : upper) / (upper + lower);
    pull[r] = rank_weight[r] * difference * wrong;
    bend[r] = std::abs(pull[r]) * (1.0 - wrong);
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
  const double cost = 20.0 * static_cast<double>(n_permutations);
  for_each_query(queries, n_threads, cost, make_scratch, [&](int64_t q, YetiScratch& s) {
    const auto n = static_cast<size_t>(queries.size(q));
    const int64_t first = queries.offsets[q];
    const double* gain = gains + first;
    std::fill_n(s.gradient.begin(), n, 0.0);
    std::fill_n(s.hessian.begin(), n, 0.0);
    if (n > 1) {
      exp_array(scores + first, *std::max_element(scores + first, scores + first + n), 1.0, n,
                s.mass.data());
      for (size_t i = 0; i < n; ++i) s.mass[i] = std::max(s.mass[i], std::exp(-kDeepest));
      Random random(iteration_seed, queries.number(q));
      for (int64_t permutation = 0; permutation < n_permutations; ++permutation) {
        for (size_t i = 0; i < n; ++i) s.uniform[i] = random.uniform();
        perturbed_keys(s.mass.data(), s.uniform.data(), n, s.key.data());
        const int32_t* order = s.ranking.sort(s.key.data(), n);
        for (size_t r = 0; r < n; ++r) {
          s.sorted_mass[r] = s.mass[order[r]];
          s.sorted_gain[r] = gain[order[r]];
        }
        neighbour_pairs(s.sorted_mass.data(), s.sorted_gain.data(), rank_weight, n - 1,
                        s.pull.data(), s.bend.data());
        for (size_t r = 0; r + 1 < n; ++r) {
          s.gradient[order[r]] -= s.pull[r];
          s.gradient[order[r + 1]] += s.pull[r];
          s.hessian[order[r]] += s.bend[r];
          s.hessian[order[r + 1]] += s.bend[r];
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
