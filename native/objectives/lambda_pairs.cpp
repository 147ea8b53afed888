#include "objectives/lambda_pairs.hpp"

#include <cstring>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

static_assert(kPairBlock == kLanes);

// What pairs add: to the gradients of both documents (with opposite signs), to their Hessians, and
// to the sum of |delta| rho.
template <typename Vector>
struct PairTerms {
  Vector gradient, hessian, lambda;
};

// e: exp(-sigma gap) of each pair; gap is read if regularised.
template <bool kRegularised, typename Vector>
RANKGROVE_INLINE void pair_terms(Vector change, const Vector& e, const Vector& score_i,
                                 const Vector& score_j, PairTerms<Vector>& terms) {
  const Vector denominator = 1.0f + e;
  Vector q;
  if constexpr (kRegularised) {
    const Vector gap = (score_i - score_j) + 0.01f;
    const Vector inverse = 1.0f / (denominator * gap);  // one division for both quotients
    q = inverse * gap;
    change *= inverse * denominator;
  } else {
    q = 1.0f / denominator;
  }
  terms.gradient = change * (change > 0.0f ? e * q : q);
  const Vector size = change > 0.0f ? change : -change;
  terms.hessian = size * (e * (q * q));
  terms.lambda = change > 0.0f ? terms.gradient : -terms.gradient;
}

// A row as its own lanes; two rows at a time are two of them, or the halves of wider vectors.
struct LaneRow {
  RANKGROVE_INLINE LaneRow(const PairRow& row, const float* decay, const float* score)
      : delta(row.delta),
        document(static_cast<int>(row.document)),
        decay_inverse(1.0f / decay[row.document]),
        score_i(Lanes{} + score[row.document]) {}

  template <bool kRegularised, bool kFirst>
  RANKGROVE_INLINE void add(const float* decay, const float* score, size_t j, Lanes& g, Lanes& h) {
    Lanes change, e, s;
    load(change, delta + j);
    load(e, decay + j);
    load(s, score + j);
    e *= decay_inverse;
    if constexpr (kFirst) {
      const LaneMask rank = LaneMask{0, 1, 2, 3, 4, 5, 6, 7} + static_cast<int>(j);
      const LaneMask below = rank > document;
      change = below ? change : Lanes{};
      e = below ? e : Lanes{};
      s = below ? s : score_i;
    }
    PairTerms<Lanes> terms;
    pair_terms<kRegularised>(change, e, score_i, s, terms);
    g += terms.gradient;
    h += terms.hessian;
    gradient -= terms.gradient;
    hessian += terms.hessian;
    lambda += terms.lambda;
  }

  RANKGROVE_INLINE PairSums sums() const {
    return {sum_lanes(gradient), sum_lanes(hessian), sum_lanes(lambda)};
  }

  const float* delta;
  int document;
  float decay_inverse;
  Lanes score_i;
  Lanes gradient = {}, hessian = {}, lambda = {};
};

template <bool kRegularised>
RANKGROVE_INLINE void add_rows(const PairRow& first_row, const PairRow& second_row,
                               const float* decay, const float* score, size_t n, float* gradient,
                               float* hessian, TwoPairSums* sums) {
  LaneRow first(first_row, decay, score), second(second_row, decay, score);
  size_t j = (first_row.document + 1) / kPairBlock * kPairBlock;
  Lanes g, h;
  load(g, gradient + j);
  load(h, hessian + j);
  first.add<kRegularised, true>(decay, score, j, g, h);
  second.add<kRegularised, true>(decay, score, j, g, h);
  store(gradient + j, g);
  store(hessian + j, h);
  for (j += kPairBlock; j < n; j += kPairBlock) {
    load(g, gradient + j);
    load(h, hessian + j);
    first.add<kRegularised, false>(decay, score, j, g, h);
    second.add<kRegularised, false>(decay, score, j, g, h);
    store(gradient + j, g);
    store(hessian + j, h);
  }
  *sums = {first.sums(), second.sums()};
}

#if RANKGROVE_X86

// Both rows in one vector of sixteen lanes, the first row in the lower half.
typedef float WideLanes __attribute__((vector_size(64)));
typedef int WideMask __attribute__((vector_size(64)));

RANKGROVE_AVX512 inline __m512 joined(__m256 low, __m256 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

RANKGROVE_AVX512 inline __m512 joined(float low, float high) {
  return joined(_mm256_set1_ps(low), _mm256_set1_ps(high));
}

RANKGROVE_AVX512 inline __m512 twice(const float* lanes) {
  return _mm512_broadcast_f32x8(_mm256_loadu_ps(lanes));
}

// sums + the lower half, then + the upper half.
RANKGROVE_AVX512 inline void add_halves(float* sums, __m512 both) {
  const __m256 low = _mm256_add_ps(_mm256_loadu_ps(sums), _mm512_castps512_ps256(both));
  _mm256_storeu_ps(sums, _mm256_add_ps(low, _mm512_extractf32x8_ps(both, 1)));
}

template <bool kRegularised>
RANKGROVE_AVX512 void add_rows_avx512(const PairRow& first, const PairRow& second,
                                      const float* decay, const float* score, size_t n,
                                      float* gradient, float* hessian, TwoPairSums* sums) {
  const size_t a = first.document, b = second.document;
  const WideLanes decay_inverse = joined(1.0f / decay[a], 1.0f / decay[b]);
  const WideLanes score_i = joined(score[a], score[b]);
  PairTerms<WideLanes> total = {};
  const size_t first_block = (a + 1) / kPairBlock * kPairBlock;
  for (size_t j = first_block; j < n; j += kPairBlock) {
    WideLanes change = joined(_mm256_loadu_ps(first.delta + j), _mm256_loadu_ps(second.delta + j));
    WideLanes e = twice(decay + j);
    WideLanes s = twice(score + j);
    e *= decay_inverse;
    if (j == first_block) {
      const WideMask rank =
          WideMask{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7} + static_cast<int>(j);
      const auto document = reinterpret_cast<WideMask>(_mm512_inserti32x8(
          _mm512_set1_epi32(static_cast<int>(a)), _mm256_set1_epi32(static_cast<int>(b)), 1));
      const WideMask below = rank > document;
      change = below ? change : WideLanes{};
      e = below ? e : WideLanes{};
      s = below ? s : score_i;
    }
    PairTerms<WideLanes> terms;
    pair_terms<kRegularised>(change, e, score_i, s, terms);
    add_halves(gradient + j, terms.gradient);
    add_halves(hessian + j, terms.hessian);
    total.gradient -= terms.gradient;
    total.hessian += terms.hessian;
    total.lambda += terms.lambda;
  }
  Lanes halves[2];
  PairSums* of_row[2] = {&sums->first, &sums->second};
  const auto sum_halves = [&](const WideLanes& lanes, float PairSums::* field) {
    std::memcpy(halves, &lanes, sizeof halves);
    for (int row = 0; row < 2; ++row) of_row[row]->*field = sum_lanes(halves[row]);
  };
  sum_halves(total.gradient, &PairSums::gradient);
  sum_halves(total.hessian, &PairSums::hessian);
  sum_halves(total.lambda, &PairSums::lambda);
}

#endif

RANKGROVE_SIMD void add_plain(const PairRow& first, const PairRow& second, const float* decay,
                              const float* score, size_t n, float* gradient, float* hessian,
                              TwoPairSums* sums) {
  add_rows<false>(first, second, decay, score, n, gradient, hessian, sums);
}

RANKGROVE_SIMD void add_regularised(const PairRow& first, const PairRow& second, const float* decay,
                                    const float* score, size_t n, float* gradient, float* hessian,
                                    TwoPairSums* sums) {
  add_rows<true>(first, second, decay, score, n, gradient, hessian, sums);
}

}  // namespace

TwoPairSums add_pairs(const PairRow& first, const PairRow& second, const float* decay,
                      const float* score, size_t n, bool regularised, float* gradient,
                      float* hessian) {
  TwoPairSums sums;
#if RANKGROVE_X86
  if (has_avx512()) {
    (regularised ? add_rows_avx512<true> : add_rows_avx512<false>)(first, second, decay, score, n,
                                                                   gradient, hessian, &sums);
    return sums;
  }
#endif
  (regularised ? add_regularised : add_plain)(first, second, decay, score, n, gradient, hessian,
                                              &sums);
  return sums;
}

}  // namespace rankgrove
