#include "objectives/listwise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/random.hpp"
#include "common/simd.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

void softmax(const double* scores, size_t n, double* p) {
  exp_array(scores, *std::max_element(scores, scores + n), 1.0, n, p);
  const double inverse = 1.0 / sum_array(p, n);
  for (size_t i = 0; i < n; ++i) p[i] *= inverse;
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

void cross_entropy_gradients(const Queries& queries, const double* scores, const double* target,
                             const double* weight, int n_threads, float* gradients,
                             float* hessians) {
  for_each_list(queries, n_threads, [&](int64_t, size_t n, int64_t first, ListScratch& s) {
    softmax(scores + first, n, s.p.data());
    const double total = sum_array(target + first, n);
    for (size_t i = 0; i < n; ++i) {
      const double w = weight ? weight[first + i] : 1.0;
      gradients[first + i] = static_cast<float>(w * (total * s.p[i] - target[first + i]));
      hessians[first + i] = static_cast<float>(w * total * s.p[i] * (1.0 - s.p[i]));
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
    softmax(scores + first, n, s.p.data());
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
