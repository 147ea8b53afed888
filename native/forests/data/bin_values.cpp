#include "forests/data/bin_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

#if RANKGROVE_X86

// The greatest float that is at most a number: the nearest, or the one before it.
inline float float_at_most(double number) {
  const auto nearest = static_cast<float>(number);
  const auto bits = std::bit_cast<int32_t>(nearest);
  const int32_t towards_lower = bits < 0 ? 1 : -1;
  return std::bit_cast<float>(bits + (nearest > number ? towards_lower : 0));
}

// How many of 16 values are at most `bound`.
RANKGROVE_AVX2 inline int32_t count_at_most(const float* values, float bound) {
  const __m256 bounds = _mm256_set1_ps(bound);
  const auto half = [&](const float* from) RANKGROVE_AVX2 {
    return static_cast<uint32_t>(
        _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(from), bounds, _CMP_LE_OQ)));
  };
  return std::popcount(half(values + 8) << 8 | half(values));
}

#endif

// Between two numbers; both may be large, of different signs.
float middle(float low, float high) {
  const float half = (high - low) / 2;
  return std::isfinite(half) ? low + half : low / 2 + high / 2;
}

}  // namespace

BinValues::BinValues(const Bins& bins, const float* feature_min, const float* feature_max) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  int32_t most_bins = 0;
  for (int32_t f = 0; f < bins.n_features(); ++f) {
    const int32_t n_bins = bins.n_bins(f);
    most_bins = std::max(most_bins, n_bins);
    starts_.push_back(static_cast<int64_t>(values_.size()));
    for (int32_t b = 0; b < n_bins; ++b) {
      const float low = b == 0 ? feature_min[f] : bins.cut(f, b - 1);
      const float high = b == n_bins - 1 ? feature_max[f] : bins.cut(f, b);
      values_.push_back(b == 0 ? low : b == n_bins - 1 ? high : middle(low, high));
    }
    values_.resize((values_.size() / kGroup + 1) * kGroup, kNone);
  }
#if RANKGROVE_X86
  in_groups_ = has_avx2() && most_bins <= kGroup * kGroup;
  if (!in_groups_) return;
  ends_.assign(static_cast<size_t>(bins.n_features()) * kGroup, kNone);
  for (int32_t f = 0; f < bins.n_features(); ++f) {
    for (int32_t group = 0; (group + 1) * kGroup <= bins.n_bins(f); ++group) {
      ends_[f * kGroup + group] = of(f)[(group + 1) * kGroup - 1];
    }
  }
#endif
}

#if RANKGROVE_X86

RANKGROVE_AVX2 int32_t BinValues::last_in_groups(int32_t feature, int32_t low, int32_t high,
                                                 double point) const {
  const float bound = float_at_most(point);
  const int32_t group = count_at_most(ends_.data() + int64_t{feature} * kGroup, bound);
  const int32_t first = group * kGroup;
  const int32_t n = first + count_at_most(of(feature) + first, bound);
  return std::clamp(n - 1, low, high - 1);
}

#endif

}  // namespace rankgrove::forests
