#include "objectives/stochasticrank.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "common/random.hpp"
#include "metrics/ranking_order.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

struct SmoothingScratch {
  explicit SmoothingScratch(size_t longest)
      : noise(longest),
        key(longest),
        score(longest),
        ranked_value(longest),
        density(longest),
        gradient(longest) {}
  RankingOrder ranking;
  std::vector<double> noise, key, score, ranked_value, density, gradient;
};

// The change of a metric by two neighbours that exchange their ranks is multiplied by a factor that
// depends on the documents above them. It is 1 at the top; below() returns the factor below a
// document of a value, given the factor at this document.
struct ConstantFactor {  // DCG
  static double below(double factor, double /*value*/) { return factor; }
};
struct UnsatisfiedFactor {  // ERR, and MRR with values 0 and 1
  static double below(double factor, double value) { return factor * (1.0 - value); }
};
struct RelevantFactor {  // average precision
  static double below(double factor, double value) { return factor + value; }
};

// Fills the densities at the scores of the first `count` ranks for a document whose score is normal
// around `mean`.
void fill_density(const double* score, double mean, double deviation, size_t count,
                  double* density) {
  for (size_t r = 0; r < count; ++r) {
    const double distance = score[r] - mean;
    density[r] = distance * distance;
  }
  exp_array(density, 0.0, -0.5 / (deviation * deviation), count, density);
}

// Sum over the other documents of the change of the metric if the document at rank `own` passes
// them, times the density. The others are ranked from 0, without the document.
template <typename Factor>
double sum_of_changes(const double* value, const double* density, size_t own, size_t n,
                      const double* discount_drop, size_t depth) {
  double sum = 0.0;
  double factor = 1.0;
  const auto pass = [&](size_t other, size_t rank) {
    sum += (value[own] - value[other]) * discount_drop[rank] * factor * density[other];
    factor = Factor::below(factor, value[other]);
  };
  for (size_t r = 0; r < std::min(own, depth); ++r) pass(r, r);
  for (size_t r = own; r < std::min(n - 1, depth); ++r) pass(r + 1, r);
  return sum;
}

// Subtracts the mean from the gradients of a query, and the share `sfa` of their part along the
// scores.
void project(const double* scores, size_t n, double nu, double sfa, double* gradient) {
  const double size = static_cast<double>(n);
  const double mean_gradient = sum_array(gradient, n) / size;
  const double mean_score = sum_array(scores, n) / size;
  double square = 0.0;
  double product = 0.0;
  for (size_t i = 0; i < n; ++i) {
    gradient[i] -= mean_gradient;
    const double score = scores[i] - mean_score;
    square += score * score;
    product += gradient[i] * score;
  }
  if (n == 2) return;  // nothing else would be left
  const double norm = std::sqrt(square) + nu;
  const double share = sfa * product / norm / norm;
  for (size_t i = 0; i < n; ++i) gradient[i] -= share * (scores[i] - mean_score);
}

template <typename Factor>
void smoothed_gradients(const Queries& queries, const double* scores, const float* value,
                        const double* penalty, const double* discount_drop, int64_t depth,
                        const SmoothingOptions& options, const double* weight, uint64_t seed,
                        uint64_t iteration, int n_threads, float* gradients) {
  const auto longest = static_cast<size_t>(queries.longest());
  const uint64_t iteration_seed = seed ^ mix64(iteration);
  const auto deepest = static_cast<size_t>(depth);
  const double n_draws = static_cast<double>(options.n_permutations);
  const double cost = n_draws * (50.0 + 2.0 * std::min(queries.mean_size(), double(depth)));
  for_each_query(
      queries, n_threads, cost, [&] { return SmoothingScratch(longest); },
      [&](int64_t q, SmoothingScratch& s) {
        const auto n = static_cast<size_t>(queries.size(q));
        const int64_t first = queries.offsets[q];
        const float* values = value + first;
        float* out = gradients + first;
        const bool equal = std::all_of(values, values + n, [&](float v) { return v == *values; });
        if (equal) {  // no order is better than another
          std::fill_n(out, n, 0.0f);
          return;
        }
        const double others = static_cast<double>(n - 1);
        const double deviation = options.sigma * std::sqrt(static_cast<double>(n) / others);
        const size_t read = std::min(n, deepest + 1);
        std::fill_n(s.gradient.begin(), n, 0.0);
        Random random(iteration_seed, queries.number(q));
        for (int64_t draw = 0; draw < options.n_permutations; ++draw) {
          for (size_t i = 0; i < n; ++i) {
            s.noise[i] = options.sigma * random.normal();
            s.key[i] = scores[first + i] - penalty[first + i] + s.noise[i];
          }
          const double total = sum_array(s.noise.data(), n);
          const int32_t* order = s.ranking.sort(s.key.data(), n);
          for (size_t r = 0; r < n; ++r) {
            s.score[r] = s.key[order[r]];
            s.ranked_value[r] = values[order[r]];
          }
          for (size_t r = 0; r < n; ++r) {
            const double own = s.noise[order[r]];
            const double mean = s.score[r] - own + (total - own) / others;
            fill_density(s.score.data(), mean, deviation, read, s.density.data());
            s.gradient[order[r]] -= sum_of_changes<Factor>(s.ranked_value.data(), s.density.data(),
                                                           r, n, discount_drop, deepest);
          }
        }
        double scale = 1.0 / (n_draws * deviation * std::sqrt(2.0 * std::numbers::pi));
        if (options.metric == LambdaMetric::kAveragePrecision) {
          scale /= sum_array(s.ranked_value.data(), n);  // the number of relevant documents
        }
        for (size_t i = 0; i < n; ++i) s.gradient[i] *= scale;
        project(scores + first, n, options.nu, options.sfa, s.gradient.data());
        for (size_t i = 0; i < n; ++i) {
          out[i] = static_cast<float>((weight ? weight[first + i] : 1.0) * s.gradient[i]);
        }
      });
}

}  // namespace

void stochasticrank_gradients(const Queries& queries, const double* scores, const float* value,
                              const double* penalty, const double* discount_drop, int64_t depth,
                              const SmoothingOptions& options, const double* weight, uint64_t seed,
                              uint64_t iteration, int n_threads, float* gradients) {
  const auto run = [&]<typename Factor>() {
    smoothed_gradients<Factor>(queries, scores, value, penalty, discount_drop, depth, options,
                               weight, seed, iteration, n_threads, gradients);
  };
  switch (options.metric) {
    case LambdaMetric::kNdcg:
      return run.template operator()<ConstantFactor>();
    case LambdaMetric::kAveragePrecision:
      return run.template operator()<RelevantFactor>();
    case LambdaMetric::kExpectedReciprocalRank:
    case LambdaMetric::kReciprocalRank:
      return run.template operator()<UnsatisfiedFactor>();
    default:
      throw std::invalid_argument("StochasticRank takes a metric, not a loss");
  }
}

}  // namespace rankgrove
