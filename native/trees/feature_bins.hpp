// The bins of one feature, computed from its values.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/category_bits.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove {

// Maps a float to an unsigned integer of the same order; -0 and +0 are one value, and so are
// -infinity and the lowest number, between which there is no finite cut.
inline uint32_t sort_key(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(std::max(value, -FLT_MAX) + 0.0f);
  return bits ^ (static_cast<uint32_t>(-static_cast<int32_t>(bits >> 31)) | 0x80000000u);
}

// The value of a key.
float key_value(uint32_t key);

// The largest key there is, which no number has.
inline constexpr uint32_t kMissingKey = 0xffffffffu;

// Least-significant-digit radix sort in three passes of 11 bits.
void sort_keys(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch);

// The different values of a feature, ascending, and the number of rows that have each.
struct DistinctValues {
  std::vector<float> values;
  std::vector<int64_t> counts;
};

// Cuts between bins of about equal size, of values that come one after the other, ascending, and
// are more than max_bins. A value more frequent than a bin stands alone, and so does an infinity;
// the others share the bins that are left.
class QuantileCuts {
 public:
  // `frequent` has all values that stand alone, and maybe others; n_rows are those of all values.
  QuantileCuts(int32_t max_bins, const DistinctValues& frequent, int64_t n_rows);

  void add(float value, int64_t count);

  std::vector<float> cuts;

 private:
  bool alone(float value, int64_t count) const;

  int32_t max_bins_;
  double fair_share_, share_ = 0.0;
  int64_t rest_rows_, in_bin_ = 0;
  int32_t rest_bins_;
  bool first_ = true, last_alone_ = false;
  float last_ = 0.0f;
};

// The cuts between the bins of a feature with these values.
std::vector<float> find_cuts(const DistinctValues& distinct, const BinLimit& limit);

struct FeatureBins {
  std::vector<float> cuts;
  bool has_missing = false;
  bool has_infinity = false;
};

// A value that some rows have besides those whose keys are listed.
struct UnlistedValue {
  float value = 0.0f;  // NaN: it is missing
  int64_t n_rows = 0;
};

// Finds the bins of a feature from the keys of its rows (missing ones among them), which it sorts.
// `scratch` is the buffer of the sort; callers reuse it for the next feature.
FeatureBins find_feature_bins(std::vector<uint32_t>& keys, const UnlistedValue& unlisted,
                              const BinLimit& limit, std::vector<uint32_t>& scratch);

// Puts the bins of all features together.
std::shared_ptr<const Bins> join_bins(const std::vector<FeatureBins>& found,
                                      const std::vector<float>& fill);

// Finds the codes of one feature's values: how many cuts lie below each.
//
// Up to 255 cuts are 16 groups of 16 (infinities stand for those that are missing), so that one
// comparison with the last cuts of all groups finds the group, and one with the cuts of the group
// the place in it. Example, with groups of 4: the cuts 1 2 3 5 | 6 8 9 inf have the last cuts
// 5 and inf. Of these, 1 lies below the value 8.5, and 2 in the second group: code 4 + 2.
class CutSearch {
 public:
  CutSearch(const Bins& bins, int32_t feature);

  // The code of a value that is a number.
  uint32_t code(float value) const {
    uint32_t position = 0;
    const float* cuts = cuts_.data();
    for (uint32_t step = half_; step > 0; step >>= 1) {
      position += (value > cuts[position + step - 1]) ? step : 0;
    }
    return position;
  }

  // The codes of n values; those of NaN are any.
  template <typename Code>
  void find(const float* values, int64_t n, Code* codes) const;

 private:
  static constexpr size_t kGroup = 16;
  static constexpr size_t kGrouped = kGroup * kGroup - 1;

  std::vector<float> cuts_;  // padded with infinity, to a length of 2^k - 1 or to all groups
  std::vector<float> last_;  // of each group; empty if there are too many cuts
  uint32_t half_;
};

// The code of a value of a categorical feature with n_bins categories.
inline uint32_t code_of_category(float value, uint32_t n_bins) {
  return std::min(category_code(value), n_bins);
}

// A search for each feature.
std::vector<CutSearch> cut_searches(const Bins& bins);

}  // namespace rankgrove
