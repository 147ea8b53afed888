#include "objectives/yetirank.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "common/simd.hpp"
#include "metrics/ranking_order.hpp"
#include "objectives/array_math.hpp"
#include "objectives/lambda_deltas.hpp"

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
        change(longest),
        pull(longest),
        bend(longest),
        gradient(longest),
        hessian(longest) {}
  RankingOrder ranking;
  std::vector<double> mass, uniform, key, sorted_mass, change, pull, bend, gradient, hessian;
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

// Gradient and Hessian of the pair (r, r + 1), by its weight, which is negative if r + 1 is the
// better one: pull is what r gains and r + 1 loses.
RANKGROVE_SIMD void neighbour_pairs(const double* mass, const double* change, size_t n_pairs,
                                    double* pull, double* bend) {
  for (size_t r = 0; r < n_pairs; ++r) {
    const double upper = mass[r];
    const double lower = mass[r + 1];
    const double wrong = (change[r] > 0 ? lower : upper) / (upper + lower);
    pull[r] = change[r] * wrong;
    bend[r] = std::abs(pull[r]) * (1.0 - wrong);
  }
}

// The pairs of YetiRank: neighbours weigh by their rank and by the difference of their gains.
class GainChanges {
 public:
  GainChanges(const double* gains, const double* rank_weight, size_t longest)
      : gains_(gains), rank_weight_(rank_weight), sorted_(longest) {}
  void operator()(int64_t /*permutation*/, int64_t first, const int32_t* order, size_t n,
                  double* change) {
    for (size_t r = 0; r < n; ++r) sorted_[r] = gains_[first + order[r]];
    for (size_t r = 0; r + 1 < n; ++r) {
      change[r] = rank_weight_[r] * (sorted_[r] - sorted_[r + 1]);
    }
  }

 private:
  const double* gains_;
  const double* rank_weight_;
  std::vector<double> sorted_;
};

// The pairs of YetiLoss: neighbours weigh by the change of a metric.
template <typename Delta>
class MetricChanges {
 public:
  MetricChanges(const float* value, size_t k, size_t longest)
      : value_(value), delta_(k, longest), sorted_(longest), row_(longest + 1) {}
  void operator()(int64_t /*permutation*/, int64_t first, const int32_t* order, size_t n,
                  double* change) {
    for (size_t r = 0; r < n; ++r) sorted_[r] = value_[first + order[r]];
    delta_.start(sorted_.data(), n);
    const size_t last = std::min(delta_.last_rank(), n - 1);
    for (size_t r = 0; r < last; ++r) {
      delta_.fill(r, r + 2, row_.data());
      change[r] = row_[r + 1];
    }
    std::fill(change + last, change + n - 1, 0.0);
  }

 private:
  const float* value_;
  Delta delta_;
  std::vector<float> sorted_, row_;
};

// Pairs whose weights were computed elsewhere, for the same rankings.
class GivenChanges {
 public:
  GivenChanges(const double* changes, int64_t n_rows) : changes_(changes), n_rows_(n_rows) {}
  void operator()(int64_t permutation, int64_t first, const int32_t* /*order*/, size_t n,
                  double* change) {
    std::copy_n(changes_ + permutation * n_rows_ + first, n - 1, change);
  }

 private:
  const double* changes_;
  int64_t n_rows_;
};

// No pairs: the rankings are kept.
class KeptRankings {
 public:
  KeptRankings(int32_t* orders, int64_t n_rows) : orders_(orders), n_rows_(n_rows) {}
  void operator()(int64_t permutation, int64_t first, const int32_t* order, size_t n,
                  double* change) {
    std::copy_n(order, n, orders_ + permutation * n_rows_ + first);
    std::fill_n(change, n - 1, 0.0);
  }

 private:
  int32_t* orders_;
  int64_t n_rows_;
};

// changes(permutation, first row, order, n, change) writes the weights of the pairs of a ranking;
// each thread works with a copy.
template <typename Changes>
void perturbed_gradients(const Queries& queries, const double* scores, const Changes& changes,
                         const double* weight, int64_t n_permutations, uint64_t seed,
                         uint64_t iteration, int n_threads, float* gradients, float* hessians) {
  const auto longest = static_cast<size_t>(queries.longest());
  const auto make_scratch = [&] { return std::pair(YetiScratch(longest), changes); };
  const uint64_t iteration_seed = seed ^ mix64(iteration);
  const double cost = 20.0 * static_cast<double>(n_permutations);
  for_each_query(
      queries, n_threads, cost, make_scratch,
      [&](int64_t q, std::pair<YetiScratch, Changes>& state) {
        auto& [s, changes_of] = state;
        const auto n = static_cast<size_t>(queries.size(q));
        const int64_t first = queries.offsets[q];
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
            for (size_t r = 0; r < n; ++r) s.sorted_mass[r] = s.mass[order[r]];
            changes_of(permutation, first, order, n, s.change.data());
            neighbour_pairs(s.sorted_mass.data(), s.change.data(), n - 1, s.pull.data(),
                            s.bend.data());
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

}  // namespace

void yetirank_gradients(const Queries& queries, const double* scores, const double* gains,
                        const double* rank_weight, const double* weight, int64_t n_permutations,
                        uint64_t seed, uint64_t iteration, int n_threads, float* gradients,
                        float* hessians) {
  const GainChanges changes(gains, rank_weight, static_cast<size_t>(queries.longest()));
  perturbed_gradients(queries, scores, changes, weight, n_permutations, seed, iteration, n_threads,
                      gradients, hessians);
}

void yetiloss_gradients(const Queries& queries, const double* scores, const float* value,
                        LambdaMetric metric, int64_t k, const double* weight,
                        int64_t n_permutations, uint64_t seed, uint64_t iteration, int n_threads,
                        float* gradients, float* hessians) {
  const auto run = [&]<typename Delta>() {
    const MetricChanges<Delta> changes(value, static_cast<size_t>(k),
                                       static_cast<size_t>(queries.longest()));
    perturbed_gradients(queries, scores, changes, weight, n_permutations, seed, iteration,
                        n_threads, gradients, hessians);
  };
  switch (metric) {
    case LambdaMetric::kNdcg:
      return run.template operator()<NdcgDelta>();
    case LambdaMetric::kAveragePrecision:
      return run.template operator()<AveragePrecisionDelta>();
    case LambdaMetric::kExpectedReciprocalRank:
      return run.template operator()<ExpectedReciprocalRankDelta>();
    case LambdaMetric::kReciprocalRank:
      return run.template operator()<ReciprocalRankDelta>();
    default:
      throw std::invalid_argument("YetiLoss takes a metric, not a loss");
  }
}

void perturbed_rankings(const Queries& queries, const double* scores, int64_t n_permutations,
                        uint64_t seed, uint64_t iteration, int n_threads, int32_t* orders) {
  const int64_t n_rows = queries.offsets[queries.count];
  std::fill_n(orders, n_permutations * n_rows, 0);  // queries of one document have no ranking
  std::vector<float> unused(static_cast<size_t>(n_rows));
  perturbed_gradients(queries, scores, KeptRankings(orders, n_rows), nullptr, n_permutations, seed,
                      iteration, n_threads, unused.data(), unused.data());
}

void ranked_change_gradients(const Queries& queries, const double* scores, const double* changes,
                             const double* weight, int64_t n_permutations, uint64_t seed,
                             uint64_t iteration, int n_threads, float* gradients, float* hessians) {
  const GivenChanges given(changes, queries.offsets[queries.count]);
  perturbed_gradients(queries, scores, given, weight, n_permutations, seed, iteration, n_threads,
                      gradients, hessians);
}

}  // namespace rankgrove
