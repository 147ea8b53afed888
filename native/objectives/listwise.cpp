#include "objectives/listwise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "common/random.hpp"
#include "common/simd.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

// p = softmax of beta scores.
void softmax(const double* scores, double beta, size_t n, double* p) {
  exp_array(scores, *std::max_element(scores, scores + n), beta, n, p);
  const double inverse = 1.0 / sum_array(p, n);
  for (size_t i = 0; i < n; ++i) p[i] *= inverse;
}

// p = sigmoid(scores + shift).
void sigmoid(const double* scores, double shift, size_t n, double* p) {
  exp_array(scores, -shift, -1.0, n, p);
  for (size_t i = 0; i < n; ++i) p[i] = 1.0 / (1.0 + p[i]);
}

// Fills p = sigmoid(scores + shift) for the shift at which the weighted sum of p is that of the
// targets; returns false if no finite shift is (all targets are 0, or all are 1). Newton steps,
// replaced by halving where they leave the bracket.
bool shift_to_targets(const double* scores, const double* target, const double* weight, size_t n,
                      double* p) {
  constexpr int kMostSteps = 200;
  constexpr double kTolerance = 1e-12;
  const double all = sum_array(weight, n);
  const double wanted = std::inner_product(target, target + n, weight, 0.0);
  if (!(wanted > 0.0 && wanted < all)) return false;
  // Where the highest (lowest) score has the mean target, all others have less (more).
  const double odds = std::log(wanted / (all - wanted));
  const auto [lowest, highest] = std::minmax_element(scores, scores + n);
  double low = odds - *highest;
  double high = odds - *lowest;
  double shift = 0.5 * (low + high);
  for (int step = 0; step < kMostSteps; ++step) {
    sigmoid(scores, shift, n, p);
    double excess = -wanted;
    double slope = 0.0;
    for (size_t i = 0; i < n; ++i) {
      excess += weight[i] * p[i];
      slope += weight[i] * p[i] * (1.0 - p[i]);
    }
    if (std::abs(excess) <= kTolerance * wanted) break;
    (excess > 0 ? high : low) = shift;
    const double newton = shift - excess / slope;
    const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
    if (next == shift) break;
    shift = next;
  }
  return true;
}

struct ListScratch {
  explicit ListScratch(size_t longest) : p(longest), target(longest), term(longest) {}
  std::vector<double> p, target, term;
};

// Calls body(query, n, first row, scratch) for every query that has documents.
template <typename Body>
void for_each_list(const Queries& queries, int n_threads, Body&& body) {
  constexpr double kNanosecondsPerDocument = 15.0;
  const auto longest = static_cast<size_t>(queries.longest());
  const auto make_scratch = [&] { return ListScratch(longest); };
  for_each_query(queries, n_threads, kNanosecondsPerDocument, make_scratch,
                 [&](int64_t q, ListScratch& s) {
                   if (queries.size(q) > 0)
                     body(q, static_cast<size_t>(queries.size(q)), queries.offsets[q], s);
                 });
}

}  // namespace

void centred_squared_error_gradients(const Queries& queries, const double* scores,
                                     const double* target, const double* weight, int n_threads,
                                     float* gradients, float* hessians) {
  for_each_list(queries, n_threads, [&](int64_t, size_t n, int64_t first, ListScratch& s) {
    double* residual = s.p.data();
    double* weighted = s.term.data();
    for (size_t i = 0; i < n; ++i) residual[i] = scores[first + i] - target[first + i];
    double total = static_cast<double>(n);
    if (weight) {
      total = sum_array(weight + first, n);
      for (size_t i = 0; i < n; ++i) weighted[i] = weight[first + i] * residual[i];
    }
    const double mean = total > 0 ? sum_array(weight ? weighted : residual, n) / total : 0.0;
    for (size_t i = 0; i < n; ++i) {
      const double w = weight ? weight[first + i] : 1.0;
      gradients[first + i] = static_cast<float>(w * (residual[i] - mean));
      if (hessians) hessians[first + i] = static_cast<float>(w);
    }
  });
}

void cross_entropy_gradients(const Queries& queries, const double* scores, const double* target,
                             const double* weight, double beta, double damping, int n_threads,
                             float* gradients, float* hessians) {
  for_each_list(queries, n_threads, [&](int64_t, size_t n, int64_t first, ListScratch& s) {
    softmax(scores + first, beta, n, s.p.data());
    const double total = sum_array(target + first, n);
    for (size_t i = 0; i < n; ++i) {
      const double w = beta * (weight ? weight[first + i] : 1.0);
      gradients[first + i] = static_cast<float>(w * (total * s.p[i] - target[first + i]));
      hessians[first + i] =
          static_cast<float>(w * total * s.p[i] * (1.0 - s.p[i]) * beta + w * total * damping);
    }
  });
}

void shifted_logistic_gradients(const Queries& queries, const double* scores, const double* target,
                                const double* weight, double alpha, int n_threads, float* gradients,
                                float* hessians) {
  for_each_list(queries, n_threads, [&](int64_t, size_t n, int64_t first, ListScratch& s) {
    const double* score = scores + first;
    double* w = s.term.data();
    for (size_t i = 0; i < n; ++i) w[i] = weight ? weight[first + i] : 1.0;
    sigmoid(score, 0.0, n, s.p.data());
    for (size_t i = 0; i < n; ++i) {
      const double p = s.p[i];
      gradients[first + i] = static_cast<float>((1.0 - alpha) * w[i] * (p - target[first + i]));
      hessians[first + i] = static_cast<float>((1.0 - alpha) * w[i] * p * (1.0 - p));
    }
    if (!shift_to_targets(score, target + first, w, n, s.p.data())) return;
    double* bend = s.target.data();
    for (size_t i = 0; i < n; ++i) bend[i] = w[i] * s.p[i] * (1.0 - s.p[i]);
    const double total = std::max(sum_array(bend, n), std::numeric_limits<double>::min());
    for (size_t i = 0; i < n; ++i) {
      gradients[first + i] += static_cast<float>(alpha * w[i] * (s.p[i] - target[first + i]));
      hessians[first + i] +=
          static_cast<float>(alpha * bend[i] * std::max(0.0, 1.0 - bend[i] / total));
    }
  });
}

void cross_entropy_ndcg_gradients(const Queries& queries, const double* scores, const double* gains,
                                  const double* weight, uint64_t seed, uint64_t iteration,
                                  int terms, int n_threads, float* gradients, float* hessians) {
  constexpr double kLeastRest = 1e-3;
  const uint64_t iteration_seed = seed ^ mix64(iteration);
  for_each_list(queries, n_threads, [&](int64_t q, size_t n, int64_t first, ListScratch& s) {
    const double* gain = gains + first;
    if (std::all_of(gain, gain + n, [&](double g) { return g == gain[0]; })) {
      std::fill_n(gradients + first, n, 0.0f);
      std::fill_n(hessians + first, n, 0.0f);
      return;
    }
    Random random(iteration_seed, queries.number(q));
    for (size_t i = 0; i < n; ++i) s.target[i] = gain[i] + 1.0 - random.uniform();
    const double inverse = 1.0 / sum_array(s.target.data(), n);
    softmax(scores + first, 1.0, n, s.p.data());
    double* g = s.target.data();  // target and gradient share their place
    for (size_t i = 0; i < n; ++i) s.term[i] = g[i] = s.p[i] - inverse * g[i];
    for (int t = 1; t < terms; ++t) {
      for (size_t i = 0; i < n; ++i) s.term[i] /= std::max(1.0 - s.p[i], kLeastRest);
      const double sum = sum_array(s.term.data(), n);
      for (size_t i = 0; i < n; ++i) g[i] += s.term[i] = s.p[i] * (sum - s.term[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      const double w = weight ? weight[first + i] : 1.0;
      gradients[first + i] = static_cast<float>(w * g[i]);
      hessians[first + i] = static_cast<float>(w * s.p[i] * (1.0 - s.p[i]));
    }
  });
}

void cosine_gradients(const Queries& queries, const double* scores, const double* gains,
                      const double* norm, const double* weight, int n_threads, float* gradients,
                      float* hessians) {
  for_each_list(queries, n_threads, [&](int64_t q, size_t n, int64_t first, ListScratch& s) {
    const double* gain = gains + first;
    double largest = 0.0;
    for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(scores[first + i]));
    double* direction = s.p.data();
    for (size_t i = 0; i < n; ++i) direction[i] = largest > 0 ? scores[first + i] / largest : 1.0;
    const double scaled_length =
        std::sqrt(std::inner_product(direction, direction + n, direction, 0.0));
    for (size_t i = 0; i < n; ++i) direction[i] /= scaled_length;
    const double length = scaled_length * (largest > 0 ? largest : 1.0);

    const double gain_length = std::sqrt(std::inner_product(gain, gain + n, gain, 0.0));
    const double scale = norm[q] > 0 ? 0.5 / (norm[q] * length) : 0.0;
    const double projection = std::inner_product(direction, direction + n, gain, 0.0);
    for (size_t i = 0; i < n; ++i) {
      const double w = weight ? weight[first + i] : 1.0;
      gradients[first + i] = static_cast<float>(w * scale * (projection * direction[i] - gain[i]));
      hessians[first + i] = static_cast<float>(w * scale * gain_length / length *
                                               std::max(0.0, 1.0 - direction[i] * direction[i]));
    }
  });
}

}  // namespace rankgrove
