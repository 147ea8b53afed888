// A value inside each bin of each feature, and the search for the bin below a drawn point.
//
// Example: with groups of 4 values instead of 16, the values 1 2 4 5 | 7 8 9 12 | 15 16 and the
// point 8.5. The last values of full groups are 5 and 12, of which one is at most 8.5: the point
// lies in group 1. Of its values two are, 7 and 8: the point follows value number 1 * 4 + 2 - 1
// = 5. Each of the two steps is a comparison of vectors, and none has a jump to guess.
#pragma once

#include <cstdint>
#include <vector>

#include "common/simd.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

class BinValues {
 public:
  BinValues() = default;
  // Values are estimated from the cuts around a bin and the features' extreme values.
  BinValues(const Bins& bins, const float* feature_min, const float* feature_max);

  // Those of a feature, in ascending order; there is one bin more than cuts.
  const float* of(int32_t feature) const { return values_.data() + starts_[feature]; }

  // The last of the values low .. high - 1 of a feature that is at most the point, `low` if none
  // is.
  int32_t last_at_most(int32_t feature, int32_t low, int32_t high, double point) const {
#if RANKGROVE_X86
    if (in_groups_) return last_in_groups(feature, low, high, point);
#endif
    // Halves without a branch to guess.
    const float* values = of(feature);
    const float* at = values + low;
    for (int32_t rest = high - low; rest > 1;) {
      const int32_t half = rest / 2;
      at = at[half] <= point ? at + half : at;
      rest -= half;
    }
    return static_cast<int32_t>(at - values);
  }

 private:
  static constexpr int32_t kGroup = 16;

  int32_t last_in_groups(int32_t feature, int32_t low, int32_t high, double point) const;

  std::vector<int64_t> starts_;  // of each feature in values_
  std::vector<float> values_;    // of whole groups: at least one NaN behind those of a feature
  bool in_groups_ = false;       // whether no feature has more than kGroup groups
  std::vector<float> ends_;      // of each feature: the last values of kGroup groups, NaN for none
};

}  // namespace rankgrove::forests
