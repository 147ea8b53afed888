#include "objectives/lambda_pairs.hpp"

#include "common/simd.hpp"

namespace rankgrove {
namespace {

template <bool kRegularised>
RANKGROVE_INLINE void add_pairs_impl(const float* delta, const float* decay, const float* score,
                                     size_t i, size_t n, float* gradient, float* hessian,
                                     PairSums* sums) {
  const float decay_inverse = 1.0f / decay[i];
  const float score_i = score[i];
  Lanes sum_gradient = {}, sum_hessian = {}, sum_lambda = {};
  for (size_t j = i + 1; j < n; j += kLanes) {
    Lanes change, e, g, h;
    load(change, delta + j);
    load(e, decay + j);
    e *= decay_inverse;
    const Lanes denominator = 1.0f + e;
    Lanes q;
    if constexpr (kRegularised) {
      Lanes s;
      load(s, score + j);
      const Lanes gap = (score_i - s) + 0.01f;
      const Lanes inverse = 1.0f / (denominator * gap);  // one division for both quotients
      q = inverse * gap;
      change *= inverse * denominator;
    } else {
      q = 1.0f / denominator;
    }
    const Lanes rho_times_change = change * (change > 0.0f ? e * q : q);
    const Lanes size = change > 0.0f ? change : -change;
    const Lanes curvature = size * (e * (q * q));
    load(g, gradient + j);
    load(h, hessian + j);
    store(gradient + j, g + rho_times_change);
    store(hessian + j, h + curvature);
    sum_gradient -= rho_times_change;
    sum_hessian += curvature;
    sum_lambda += change > 0.0f ? rho_times_change : -rho_times_change;
  }
  *sums = {sum_lanes(sum_gradient), sum_lanes(sum_hessian), sum_lanes(sum_lambda)};
}

RANKGROVE_SIMD void add_plain(const float* delta, const float* decay, const float* score, size_t i,
                              size_t n, float* gradient, float* hessian, PairSums* sums) {
  add_pairs_impl<false>(delta, decay, score, i, n, gradient, hessian, sums);
}

RANKGROVE_SIMD void add_regularised(const float* delta, const float* decay, const float* score,
                                    size_t i, size_t n, float* gradient, float* hessian,
                                    PairSums* sums) {
  add_pairs_impl<true>(delta, decay, score, i, n, gradient, hessian, sums);
}

}  // namespace

PairSums add_pairs(const float* delta, const float* decay, const float* score, size_t i, size_t n,
                   bool regularised, float* gradient, float* hessian) {
  PairSums sums;
  (regularised ? add_regularised : add_plain)(delta, decay, score, i, n, gradient, hessian, &sums);
  return sums;
}

}  // namespace rankgrove
