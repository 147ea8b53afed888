#include "explain/path_kernels.hpp"

#include <bit>

#include "common/category_bits.hpp"
#include "common/simd.hpp"

namespace rankgrove {

namespace {

typedef float FourFloats __attribute__((vector_size(16)));

// The values of one point, of which each row takes the one of its case by a few operations on bits.
// kRepeated says that the path has asked for the feature before, so that rows may be lost.
template <bool kRepeated>
class Choice {
 public:
  RANKGROVE_INLINE Choice(const ByCase& by_case, int32_t point) {
    const auto met = std::bit_cast<long long>(by_case.met[point]);
    const auto failed = std::bit_cast<long long>(by_case.failed[point]);
    const auto lost = std::bit_cast<long long>(by_case.lost);
    last_ = LaneMask64{} + (kRepeated ? lost : failed);
    not_lost_ = LaneMask64{} + (failed ^ lost);
    met_ = LaneMask64{} + (met ^ failed);
  }

  RANKGROVE_INLINE void take(Lanes64& value, const LaneMask64* met, const LaneMask64* before,
                             int32_t group) const {
    LaneMask64 change = met[group] & met_;
    if constexpr (kRepeated) change = (change ^ not_lost_) & before[group];
    value = (Lanes64)(change ^ last_);
  }

 private:
  LaneMask64 last_, not_lost_, met_;
};

template <int32_t kGroups, bool kRepeated>
RANKGROVE_INLINE void multiply_as(const Lanes64* in, const LaneMask64* met,
                                  const LaneMask64* before, const ByCase& factor, PackShape shape,
                                  Lanes64* out) {
  const int32_t n_groups = kGroups > 0 ? kGroups : shape.n_groups;
  for (int32_t q = 0; q < shape.n_points; ++q, in += n_groups, out += n_groups) {
    const Choice<kRepeated> choice(factor, q);
    for (int32_t g = 0; g < n_groups; ++g) {
      Lanes64 value;
      choice.take(value, met, before, g);
      out[g] = in[g] * value;
    }
  }
}

template <int32_t kGroups, bool kRepeated>
RANKGROVE_INLINE void multiply_and_weigh_as(const Lanes64* in, const LaneMask64* met,
                                            const LaneMask64* before, const ByCase& factor,
                                            const ByCase& coefficient, PackShape shape,
                                            Lanes64* out, Lanes64* effect) {
  const int32_t n_groups = kGroups > 0 ? kGroups : shape.n_groups;
  Lanes64 sums[kMostGroups] = {};
  for (int32_t q = 0; q < shape.n_points; ++q, in += n_groups, out += n_groups) {
    const Choice<kRepeated> factors(factor, q);
    const Choice<kRepeated> coefficients(coefficient, q);
    for (int32_t g = 0; g < n_groups; ++g) {
      Lanes64 value;
      factors.take(value, met, before, g);
      const Lanes64 given = in[g];
      out[g] = given * value;
      coefficients.take(value, met, before, g);
      sums[g] += given * value;
    }
  }
  for (int32_t g = 0; g < n_groups; ++g) effect[g] += sums[g];
}

template <int32_t kGroups, bool kRepeated>
RANKGROVE_INLINE void weigh_and_join_as(const Lanes64* in, const LaneMask64* met,
                                        const LaneMask64* before, const ByCase& coefficient,
                                        PackShape shape, bool joins, Lanes64* sum,
                                        Lanes64* effect) {
  const int32_t n_groups = kGroups > 0 ? kGroups : shape.n_groups;
  Lanes64 sums[kMostGroups] = {};
  for (int32_t q = 0; q < shape.n_points; ++q, in += n_groups, sum += n_groups) {
    const Choice<kRepeated> choice(coefficient, q);
    for (int32_t g = 0; g < n_groups; ++g) {
      Lanes64 value;
      choice.take(value, met, before, g);
      sums[g] += in[g] * value;
    }
    if (joins) {
      for (int32_t g = 0; g < n_groups; ++g) sum[g] += in[g];
    } else {
      for (int32_t g = 0; g < n_groups; ++g) sum[g] = in[g];
    }
  }
  for (int32_t g = 0; g < n_groups; ++g) effect[g] += sums[g];
}

}  // namespace

// Full packs of rows have code of their own, in which sums stay in registers.
#define RANKGROVE_BY_SHAPE(function, ...)        \
  if (shape.n_groups == kMostGroups) {           \
    if (before == nullptr) {                     \
      function<kMostGroups, false>(__VA_ARGS__); \
    } else {                                     \
      function<kMostGroups, true>(__VA_ARGS__);  \
    }                                            \
  } else if (before == nullptr) {                \
    function<0, false>(__VA_ARGS__);             \
  } else {                                       \
    function<0, true>(__VA_ARGS__);              \
  }

RANKGROVE_SIMD void multiply(const Lanes64* in, const LaneMask64* met, const LaneMask64* before,
                             const ByCase& factor, PackShape shape, Lanes64* out){
    RANKGROVE_BY_SHAPE(multiply_as, in, met, before, factor, shape, out)}

RANKGROVE_SIMD
    void multiply_and_weigh(const Lanes64* in, const LaneMask64* met, const LaneMask64* before,
                            const ByCase& factor, const ByCase& coefficient, PackShape shape,
                            Lanes64* out, Lanes64* effect){
        RANKGROVE_BY_SHAPE(multiply_and_weigh_as, in, met, before, factor, coefficient, shape, out,
                           effect)}

RANKGROVE_SIMD void weigh_and_join(const Lanes64* in, const LaneMask64* met,
                                   const LaneMask64* before, const ByCase& coefficient,
                                   PackShape shape, bool joins, Lanes64* sum, Lanes64* effect){
    RANKGROVE_BY_SHAPE(weigh_and_join_as, in, met, before, coefficient, shape, joins, sum, effect)}
#undef RANKGROVE_BY_SHAPE

RANKGROVE_SIMD
    void compare(const float* values, float threshold, int32_t n_groups, LaneMask64* met) {
  for (int32_t g = 0; g < n_groups; ++g) {
    FourFloats x;
    load(x, values + g * kLanes64);
    met[g] = __builtin_convertvector(x <= threshold, LaneMask64);
  }
}

void find_categories(const float* values, std::span<const uint32_t> set, int32_t n_groups,
                     LaneMask64* met) {
  for (int32_t g = 0; g < n_groups; ++g) {
    for (int32_t lane = 0; lane < kLanes64; ++lane) {
      const float value = values[g * kLanes64 + lane];
      met[g][lane] = value < 0 || has_category(set, category_code(value)) ? -1 : 0;
    }
  }
}

RANKGROVE_SIMD void narrow(const LaneMask64* met, bool flip, const LaneMask64* before,
                           int32_t n_groups, LaneMask64* kept) {
  const LaneMask64 flipped = LaneMask64{} - static_cast<long long>(flip);
  for (int32_t g = 0; g < n_groups; ++g) {
    kept[g] = met[g] ^ flipped;
    if (before != nullptr) kept[g] &= before[g];
  }
}

RANKGROVE_SIMD void spread(const LaneMask64* met, const LaneMask64* before,
                           const ByCase& coefficient, PackShape shape, Lanes64* out) {
  for (int32_t q = 0; q < shape.n_points; ++q, out += shape.n_groups) {
    if (before == nullptr) {
      const Choice<false> choice(coefficient, q);
      for (int32_t g = 0; g < shape.n_groups; ++g) choice.take(out[g], met, before, g);
    } else {
      const Choice<true> choice(coefficient, q);
      for (int32_t g = 0; g < shape.n_groups; ++g) choice.take(out[g], met, before, g);
    }
  }
}

RANKGROVE_SIMD void multiply_lanes(const Lanes64* a, const Lanes64* b, int32_t size, Lanes64* out) {
  for (int32_t i = 0; i < size; ++i) out[i] = a[i] * b[i];
}

RANKGROVE_SIMD void add_half_products(const Lanes64* a, const Lanes64* b, PackShape shape,
                                      Lanes64* effect) {
  Lanes64 sums[kMostGroups] = {};
  for (int32_t q = 0; q < shape.n_points; ++q, a += shape.n_groups, b += shape.n_groups) {
    for (int32_t g = 0; g < shape.n_groups; ++g) sums[g] += a[g] * b[g];
  }
  for (int32_t g = 0; g < shape.n_groups; ++g) effect[g] += 0.5 * sums[g];
}

}  // namespace rankgrove
