// The inner loops of exact Shapley values: the update of a pack of rows on an edge of a tree.
//
// Vectors over rows come in groups of four, and `n_groups` of them lie side by side for each point
// of the quadrature: [point * n_groups + group]. Rows differ in how they stand to the conditions
// that a path puts on a feature:
//   met     they meet the last condition and those before;
//   failed  they meet those before but not the last;
//   lost    they have failed one before.
// For the first condition on a feature, `before` (the rows that meet those before) is null.
#pragma once

#include <cstdint>
#include <span>

#include "common/simd.hpp"

namespace rankgrove {

constexpr int32_t kMostGroups = 8;

// Values for each point in two of the cases, and in the third, where all points have the same.
struct ByCase {
  const double* met;
  const double* failed;
  double lost;
};

struct PackShape {
  int32_t n_points;
  int32_t n_groups;
  int32_t size() const { return n_points * n_groups; }
};

// The rows with x <= threshold.
void compare(const float* values, float threshold, int32_t n_groups, LaneMask64* met);

// The rows whose category is in a set, and those with a negative value: they are missing and go
// left.
void find_categories(const float* values, std::span<const uint32_t> set, int32_t n_groups,
                     LaneMask64* met);

// kept = the rows that meet a condition (or that do not, if `flip`) and those before.
void narrow(const LaneMask64* met, bool flip, const LaneMask64* before, int32_t n_groups,
            LaneMask64* kept);

// out = in * factor.
void multiply(const Lanes64* in, const LaneMask64* met, const LaneMask64* before,
              const ByCase& factor, PackShape shape, Lanes64* out);

// effect += the sum over points of in * coefficient; and in is added to `sum`, or copied there.
void weigh_and_join(const Lanes64* in, const LaneMask64* met, const LaneMask64* before,
                    const ByCase& coefficient, PackShape shape, bool joins, Lanes64* sum,
                    Lanes64* effect);

// out = in * factor, and effect += the sum over points of in * coefficient.
void multiply_and_weigh(const Lanes64* in, const LaneMask64* met, const LaneMask64* before,
                        const ByCase& factor, const ByCase& coefficient, PackShape shape,
                        Lanes64* out, Lanes64* effect);

// out = the coefficients.
void spread(const LaneMask64* met, const LaneMask64* before, const ByCase& coefficient,
            PackShape shape, Lanes64* out);

// out = a * b.
void multiply_lanes(const Lanes64* a, const Lanes64* b, int32_t size, Lanes64* out);

// effect += half of the sum over points of a * b.
void add_half_products(const Lanes64* a, const Lanes64* b, PackShape shape, Lanes64* effect);

}  // namespace rankgrove
