#include "objectives/lambda.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "metrics/ranking_order.hpp"
#include "objectives/array_math.hpp"
#include "objectives/lambda_deltas.hpp"
#include "objectives/lambda_pairs.hpp"

namespace rankgrove {
namespace {

template <typename Delta>
struct LambdaScratch {
  LambdaScratch(Delta made, size_t longest)
      : delta_of(std::move(made)),
        noisy(longest),
        sorted(longest),
        score(longest + kPairBlock),
        decay(longest + kPairBlock),
        value(longest),
        gradient(longest + kPairBlock),
        hessian(longest + kPairBlock) {
    for (std::vector<float>& of_row : delta) of_row.resize(longest + kPairBlock);
  }

  Delta delta_of;
  RankingOrder ranking;
  std::vector<double> noisy, sorted;
  std::vector<float> score, decay, value, gradient, hessian;  // in rank order
  std::vector<float> delta[2];                                // of two rows of pairs
};

constexpr double kNanosecondsPerDocument = 20.0;
constexpr double kNanosecondsPerPair = 0.8;
// Beyond this distance, measured in sigma * score, decays are computed for a new base.
constexpr double kRebaseDistance = 40.0;
// Scores further below the top than this are as good as there: their gaps must not overflow.
constexpr double kLowestScore = -1e18;

// Multiplies delta[j] of the pairs of document i and the documents below it by their factors, and
// adds their costs; order holds the rows of the query in rank order, factors begin at the query.
void weigh_pairs(const PairFactors& factors, const int32_t* order, const double* sorted,
                 double sigma, size_t i, size_t n, float* delta) {
  for (size_t j = i + 1; j < n; ++j) {
    if (delta[j] == 0.0f) continue;
    const bool upper_is_better = delta[j] > 0.0f;
    const int32_t better = order[upper_is_better ? i : j];
    const int32_t worse = order[upper_is_better ? j : i];
    if (factors.better_cost) {
      const double gap = sigma * (upper_is_better ? sorted[i] - sorted[j] : sorted[j] - sorted[i]);
      // log(1 + exp(-gap)) without overflow
      const double loss = std::max(-gap, 0.0) + std::log1p(std::exp(-std::abs(gap)));
      const double cost = std::abs(static_cast<double>(delta[j])) * loss;
      factors.better_cost[better] += cost * factors.worse[worse];
      factors.worse_cost[worse] += cost * factors.better[better];
    }
    delta[j] *= static_cast<float>(factors.better[better] * factors.worse[worse]);
  }
}

// How many leading documents have another value below them: below a document of the same value as
// all others, pairs change nothing. Example: with the values 0 3 1 1 1 these are the first two.
size_t n_above_others(const std::vector<float>& value, size_t n) {
  size_t count = n - 1;
  while (count > 0 && value[count - 1] == value[n - 1]) --count;
  return count;
}

// Leaves gradients and Hessians in rank order in the scratch, without the factors sigma and
// sigma^2; returns the sum of the pairs' |delta| rho.
template <typename Delta>
double one_query(const double* scores, const float* value, size_t n, const int32_t* order,
                 const LambdaOptions& options, const PairFactors& factors,
                 LambdaScratch<Delta>& s) {
  for (size_t r = 0; r < n; ++r) {
    s.sorted[r] = scores[order[r]];
    s.value[r] = value[order[r]];
    s.score[r] = static_cast<float>(std::max(s.sorted[r] - s.sorted[0], kLowestScore));
  }
  for (size_t r = n; r < n + kPairBlock; ++r) {
    s.score[r] = s.score[n - 1];
    s.decay[r] = s.delta[0][r] = s.delta[1][r] = 0.0f;
  }
  std::fill_n(s.gradient.begin(), n + kPairBlock, 0.0f);
  std::fill_n(s.hessian.begin(), n + kPairBlock, 0.0f);

  const bool regularised = options.difference_norm && s.sorted[0] != s.sorted[n - 1];
  s.delta_of.start(s.value.data(), n);
  constexpr bool kBothWays = requires { s.delta_of.fill_reverse(0, n, s.delta[1].data()); };
  const size_t last = std::min({s.delta_of.last_rank(), static_cast<size_t>(options.truncation),
                                kBothWays ? n - 1 : n_above_others(s.value, n)});
  double lambda_sum = 0;
  const auto add_sums = [&](size_t i, const PairSums& sums) {
    s.gradient[i] += sums.gradient;
    s.hessian[i] += sums.hessian;
    lambda_sum += static_cast<double>(sums.lambda);
  };
  // Row i has its deltas in s.delta[slot].
  const auto weighed_row = [&](size_t i, int slot) {
    float* delta = s.delta[slot].data();
    if (factors.better) {
      weigh_pairs(factors, order, s.sorted.data(), options.sigma, i, n, delta);
    }
    return PairRow{i, delta};
  };
  const auto add_rows = [&](const PairRow& first, const PairRow& second) {
    const TwoPairSums sums = add_pairs(first, second, s.decay.data(), s.score.data(), n,
                                       regularised, s.gradient.data(), s.hessian.data());
    add_sums(first.document, sums.first);
    add_sums(second.document, sums.second);
  };
  const auto needs_base = [&](size_t base, size_t i) {
    return i == 0 || options.sigma * (s.sorted[base] - s.sorted[i]) > kRebaseDistance;
  };
  size_t base = 0;
  for (size_t i = 0; i < last; ++i) {
    if (needs_base(base, i)) {
      base = i;
      exp_array(s.sorted.data() + i, s.sorted[i], options.sigma, n - i, s.decay.data() + i);
    }
    s.delta_of.fill(i, n, s.delta[0].data());
    const PairRow row = weighed_row(i, 0);
    if constexpr (kBothWays) {
      s.delta_of.fill_reverse(i, n, s.delta[1].data());
      add_rows(row, weighed_row(i, 1));
    } else if (i + 1 < last && !needs_base(base, i + 1)) {
      s.delta_of.fill(++i, n, s.delta[1].data());
      add_rows(row, weighed_row(i, 1));
    } else {  // a row without a partner
      std::fill(s.delta[1].begin() + static_cast<std::ptrdiff_t>(i),
                s.delta[1].begin() + static_cast<std::ptrdiff_t>(n), 0.0f);
      add_rows(row, {i, s.delta[1].data()});
    }
  }
  return lambda_sum;
}

// scores + noise log(u / (1 - u)), u uniform in (0, 1).
void add_noise(const double* scores, size_t n, double noise, Random random, double* noisy) {
  for (size_t i = 0; i < n; ++i) {
    const double u = std::max(random.uniform(), std::numeric_limits<double>::epsilon());
    noisy[i] = scores[i] + noise * std::log(u / (1.0 - u));
  }
}

// The factors of the documents from a row on.
PairFactors factors_from(const PairFactors& factors, int64_t first) {
  const auto moved = [&](auto* values) { return values ? values + first : nullptr; };
  return {moved(factors.better), moved(factors.worse), moved(factors.better_cost),
          moved(factors.worse_cost)};
}

// delta says how pairs weigh; each thread works with a copy.
template <typename Delta>
void all_queries(const Queries& queries, const double* scores, const float* value,
                 const double* weight, const LambdaOptions& options, const PairFactors& factors,
                 uint64_t seed, uint64_t iteration, int n_threads, const Delta& delta,
                 float* gradients, float* hessians) {
  const auto longest = static_cast<size_t>(queries.longest());
  const auto make_scratch = [&] { return LambdaScratch<Delta>(delta, longest); };
  const uint64_t iteration_seed = seed ^ mix64(iteration);
  const double pairs = std::min(static_cast<double>(options.truncation), queries.mean_size());
  const double cost = kNanosecondsPerDocument + kNanosecondsPerPair * pairs;
  for_each_query(queries, n_threads, cost, make_scratch, [&](int64_t q, LambdaScratch<Delta>& s) {
    const int64_t first = queries.offsets[q];
    const auto n = static_cast<size_t>(queries.size(q));
    if (n == 0) return;
    const double* score = scores + first;
    if (options.noise > 0) {
      Random random(iteration_seed, queries.number(q));
      add_noise(score, n, options.noise, random, s.noisy.data());
      score = s.noisy.data();
    }
    const int32_t* order = s.ranking.sort(score, n);
    const double lambda_sum =
        one_query(score, value + first, n, order, options, factors_from(factors, first), s);

    double scale = options.sigma;
    const double documents_sum = 2.0 * options.sigma * lambda_sum;  // both documents of each pair
    if (options.query_norm && documents_sum > 0) {
      scale *= std::log2(1.0 + documents_sum) / documents_sum;
    }
    for (size_t r = 0; r < n; ++r) {
      const int64_t row = first + order[r];
      const double factor = weight ? scale * weight[row] : scale;
      gradients[row] = static_cast<float>(factor * s.gradient[r]);
      hessians[row] = static_cast<float>(factor * options.sigma * s.hessian[r]);
    }
  });
}

}  // namespace

void lambda_gradients(const Queries& queries, const double* scores, const float* value,
                      const double* weight, const LambdaOptions& options,
                      const PairFactors& factors, uint64_t seed, uint64_t iteration, int n_threads,
                      float* gradients, float* hessians) {
  const auto run = [&](const auto& delta) {
    all_queries(queries, scores, value, weight, options, factors, seed, iteration, n_threads, delta,
                gradients, hessians);
  };
  const auto longest = static_cast<size_t>(queries.longest());
  const auto k = static_cast<size_t>(options.k);
  switch (options.metric) {
    case LambdaMetric::kNdcg:
      return run(NdcgDelta(k, longest));
    case LambdaMetric::kAveragePrecision:
      return run(AveragePrecisionDelta(k, longest));
    case LambdaMetric::kExpectedReciprocalRank:
      return run(ExpectedReciprocalRankDelta(k, longest));
    case LambdaMetric::kReciprocalRank:
      return run(ReciprocalRankDelta(k, longest));
    case LambdaMetric::kNdcgLoss1:
      return run(OwnWeightDelta(true, longest));
    case LambdaMetric::kNdcgLoss2:
      return run(RankDistanceDelta(0.0f, 1.0f, longest));
    case LambdaMetric::kNdcgLoss2PlusPlus:
      return run(RankDistanceDelta(1.0f, static_cast<float>(options.mu), longest));
    case LambdaMetric::kArpLoss1:
      return run(OwnWeightDelta(false, longest));
    case LambdaMetric::kArpLoss2:
      return run(LabelDifferenceDelta());
  }
}

}  // namespace rankgrove
