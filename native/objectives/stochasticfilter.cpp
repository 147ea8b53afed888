#include "objectives/stochasticfilter.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "common/simd.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

// Gauss-Legendre nodes in (0, 1) and their weights.
constexpr size_t kNodes = 8;
constexpr std::array<double, kNodes> kNode = {
    0.0198550717512319, 0.1016667612931866, 0.2372337950418355, 0.4082826787521751,
    0.5917173212478249, 0.7627662049581645, 0.8983332387068134, 0.9801449282487681};
constexpr std::array<double, kNodes> kShare = {
    0.0506142681451881, 0.1111905172266872, 0.1568533229389436, 0.1813418916891810,
    0.1813418916891810, 0.1568533229389436, 0.1111905172266872, 0.0506142681451881};

struct FilterScratch {
  explicit FilterScratch(size_t longest)
      : kept(longest), above((longest + 1) * kNodes), slope(longest) {}
  std::vector<double> kept, above, slope;
};

// Adds the integral over 1 - x in [begin, end] of the derivative by each p_d: the product over the
// documents above, times y_d - (1 - x) V_{d+1}, where V_d = p_d y_d + (1 - p_d + p_d x) V_{d+1}.
RANKGROVE_SIMD void add_piece(const double* kept, const double* labels, size_t n, double begin,
                              double end, double* above, double* slope) {
  double gap[kNodes], share[kNodes], value[kNodes];
  for (size_t i = 0; i < kNodes; ++i) {
    gap[i] = begin + (end - begin) * kNode[i];
    share[i] = (end - begin) * kShare[i];
    value[i] = 0.0;
    above[i] = 1.0;
  }
  for (size_t d = 0; d < n; ++d) {
    const double* here = above + d * kNodes;
    double* next = above + (d + 1) * kNodes;
    for (size_t i = 0; i < kNodes; ++i) next[i] = here[i] * (1.0 - kept[d] * gap[i]);
  }
  for (size_t d = n; d-- > 0;) {
    const double* here = above + d * kNodes;
    double term[kNodes];
    for (size_t i = 0; i < kNodes; ++i) {
      term[i] = share[i] * here[i] * (labels[d] - gap[i] * value[i]);
      value[i] = kept[d] * labels[d] + (1.0 - kept[d] * gap[i]) * value[i];
    }
    for (size_t i = 0; i < kNodes; ++i) slope[d] += term[i];
  }
}

}  // namespace

void stochasticfilter_gradients(const Queries& queries, const double* scores, const double* labels,
                                double sigma, const double* weight, int n_threads,
                                float* gradients) {
  const auto longest = static_cast<size_t>(queries.longest());
  for_each_query(
      queries, n_threads, 60.0, [&] { return FilterScratch(longest); },
      [&](int64_t q, FilterScratch& s) {
        const auto n = static_cast<size_t>(queries.size(q));
        const int64_t first = queries.offsets[q];
        exp_array(scores + first, 0.0, -sigma, n, s.kept.data());
        for (size_t d = 0; d < n; ++d) s.kept[d] = 1.0 / (1.0 + s.kept[d]);
        std::fill_n(s.slope.begin(), n, 0.0);
        // The integrand falls like exp(-n (1 - x)) at worst: pieces of 1 - x are halved until they
        // end at 4 / n.
        double end = 1.0;
        for (; end * static_cast<double>(n) > 4.0; end *= 0.5) {
          add_piece(s.kept.data(), labels + first, n, 0.5 * end, end, s.above.data(),
                    s.slope.data());
        }
        add_piece(s.kept.data(), labels + first, n, 0.0, end, s.above.data(), s.slope.data());
        for (size_t d = 0; d < n; ++d) {
          const double w = weight ? weight[first + d] : 1.0;
          const double by_score = sigma * s.kept[d] * (1.0 - s.kept[d]) * s.slope[d];
          gradients[first + d] = static_cast<float>(-w * by_score);
        }
      });
}

}  // namespace rankgrove
