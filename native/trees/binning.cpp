#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/parallel.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove {
namespace {

// Features are read 16 at a time: one cache line of a row-major float32 matrix.
constexpr int32_t kFeatureBlock = 16;
constexpr double kNanosecondsPerCode = 3.0;
constexpr double kNanosecondsPerSort = 8.0;  // of a value

// Maps a float to an unsigned integer of the same order; -0 and +0 are one value, and so are
// -infinity and the lowest number, between which there is no finite cut.
uint32_t sort_key(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(std::max(value, -FLT_MAX) + 0.0f);
  return bits ^ (static_cast<uint32_t>(-static_cast<int32_t>(bits >> 31)) | 0x80000000u);
}

float key_value(uint32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) ? 0x80000000u : 0xffffffffu));
}

// Least-significant-digit radix sort in three passes of 11 bits.
void radix_sort(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch) {
  constexpr int kBits = 11;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  if (keys.size() < 1024) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  std::vector<uint32_t> counts(3 << kBits, 0);
  for (const uint32_t key : keys) {
    ++counts[key & kMask];
    ++counts[(1u << kBits) + ((key >> kBits) & kMask)];
    ++counts[(2u << kBits) + (key >> (2 * kBits))];
  }
  scratch.resize(keys.size());
  for (int pass = 0; pass < 3; ++pass) {
    uint32_t* count = counts.data() + (pass << kBits);
    const int shift = pass * kBits;
    if (count[(keys[0] >> shift) & kMask] == keys.size()) continue;
    uint32_t position = 0;
    for (uint32_t digit = 0; digit <= kMask; ++digit) {
      const uint32_t n = count[digit];
      count[digit] = position;
      position += n;
    }
    for (const uint32_t key : keys) scratch[count[(key >> shift) & kMask]++] = key;
    keys.swap(scratch);
  }
}

// A float32 strictly between two distinct values, near their middle; `low` itself if the two are
// neighbours in float32.
float mid_point(float low, float high) {
  if (std::isinf(high)) return FLT_MAX;
  const auto middle =
      static_cast<float>(0.5 * (static_cast<double>(low) + static_cast<double>(high)));
  return middle < high ? middle : low;
}

struct DistinctValues {
  std::vector<float> values;  // ascending
  std::vector<int64_t> counts;
};

DistinctValues distinct_values(const std::vector<uint32_t>& sorted_keys) {
  DistinctValues result;
  for (size_t i = 0; i < sorted_keys.size();) {
    size_t end = i + 1;
    while (end < sorted_keys.size() && sorted_keys[end] == sorted_keys[i]) ++end;
    result.values.push_back(key_value(sorted_keys[i]));
    result.counts.push_back(static_cast<int64_t>(end - i));
    i = end;
  }
  return result;
}

// Cuts between bins of about equal size. A value more frequent than a bin stands alone, and so does
// an infinity; the others share the bins that are left.
std::vector<float> quantile_cuts(const DistinctValues& distinct, int64_t n_rows, int32_t max_bins) {
  const auto& [values, counts] = distinct;
  const size_t n = values.size();
  std::vector<float> cuts;
  const auto cut_after = [&](size_t i) { cuts.push_back(mid_point(values[i], values[i + 1])); };
  if (n <= static_cast<size_t>(max_bins)) {
    for (size_t i = 0; i + 1 < n; ++i) cut_after(i);
    return cuts;
  }
  const double fair_share = static_cast<double>(n_rows) / max_bins;
  std::vector<uint8_t> alone(n);
  int64_t rest_rows = n_rows;
  int32_t rest_bins = max_bins;
  for (size_t i = 0; i < n; ++i) {
    alone[i] = counts[i] >= fair_share || std::isinf(values[i]);
    if (alone[i]) {
      rest_rows -= counts[i];
      --rest_bins;
    }
  }
  double share = static_cast<double>(rest_rows) / std::max(rest_bins, 1);
  int64_t in_bin = 0;
  for (size_t i = 0; i + 1 < n && cuts.size() + 1 < static_cast<size_t>(max_bins); ++i) {
    if (!alone[i]) {
      rest_rows -= counts[i];
      in_bin += counts[i];
    }
    const bool full = static_cast<double>(in_bin) >= share;
    const bool before_alone = alone[i + 1] && static_cast<double>(in_bin) >= 0.5 * share;
    if (alone[i] || full || before_alone || (alone[i + 1] && std::isinf(values[i + 1]))) {
      cut_after(i);
      if (!alone[i]) {
        rest_bins = std::max(rest_bins - 1, 1);
        share = static_cast<double>(rest_rows) / rest_bins;
      }
      in_bin = 0;
    }
  }
  return cuts;
}

struct FeatureBins {
  std::vector<float> cuts;
  bool has_missing = false;
  bool has_infinity = false;
};

// Sorts one feature's keys in place; `n_missing` rows had no value.
FeatureBins feature_bins(std::vector<uint32_t>& keys, std::vector<uint32_t>& scratch,
                         int64_t n_missing, int32_t max_bins) {
  FeatureBins result;
  result.has_missing = n_missing > 0;
  if (keys.empty()) return result;
  radix_sort(keys, scratch);
  result.has_infinity = std::isinf(key_value(keys.back())) && key_value(keys.back()) > 0;
  result.cuts = quantile_cuts(distinct_values(keys), static_cast<int64_t>(keys.size()), max_bins);
  return result;
}

// Number of cuts below `value`, by a branch-free binary search over `n` = 2^k - 1 padded cuts.
template <typename Code>
Code find_code(const float* padded_cuts, uint32_t half, float value) {
  uint32_t position = 0;
  for (uint32_t step = half; step > 0; step >>= 1) {
    position += (value > padded_cuts[position + step - 1]) ? step : 0;
  }
  return static_cast<Code>(position);
}

template <typename Code>
void code_block(const MatrixView& x, const Bins& bins, const int64_t* rows, int64_t begin,
                int64_t end, int32_t first_feature, int32_t last_feature,
                const std::vector<std::vector<float>>& padded, int64_t n_rows, Code* codes) {
  constexpr int64_t kRowTile = 256;
  float values[kRowTile];
  for (int64_t tile = begin; tile < end; tile += kRowTile) {
    const int64_t tile_end = std::min(end, tile + kRowTile);
    for (int32_t f = first_feature; f < last_feature; ++f) {
      const float* source = x.data + f * x.column_stride;
      for (int64_t i = tile; i < tile_end; ++i) {
        values[i - tile] = source[(rows ? rows[i] : i) * x.row_stride];
      }
      const float fill = bins.fill[f];
      const Code missing = static_cast<Code>(bins.n_bins(f));
      const float* cuts = padded[f].data();
      const uint32_t half = static_cast<uint32_t>(padded[f].size() + 1) / 2;
      Code* target = codes + static_cast<int64_t>(f) * n_rows + tile;
      for (int64_t i = 0; i < tile_end - tile; ++i) {
        const float value = std::isnan(values[i]) ? fill : values[i];
        const Code code = find_code<Code>(cuts, half, value);
        target[i] = std::isnan(value) ? missing : code;
      }
    }
  }
}

// Each feature's cuts, padded with +infinity to a length of 2^k - 1.
std::vector<std::vector<float>> padded_cuts(const Bins& bins) {
  std::vector<std::vector<float>> result(bins.n_features());
  for (int32_t f = 0; f < bins.n_features(); ++f) {
    const size_t n = bins.offsets[f + 1] - bins.offsets[f];
    const size_t length = std::bit_ceil(n + 1) - 1;
    result[f].assign(std::max<size_t>(length, 1), std::numeric_limits<float>::infinity());
    std::copy_n(bins.cuts.begin() + bins.offsets[f], n, result[f].begin());
  }
  return result;
}

}  // namespace

std::shared_ptr<const Bins> find_bins(const MatrixView& x, int32_t max_bins,
                                      const std::vector<float>& fill, int n_threads) {
  std::vector<FeatureBins> found(x.n_features);
  const int32_t n_blocks = (x.n_features + kFeatureBlock - 1) / kFeatureBlock;
  for (int32_t block = 0; block < n_blocks; ++block) {
    const int32_t first = block * kFeatureBlock;
    const int32_t width = std::min(kFeatureBlock, x.n_features - first);
    std::vector<std::vector<uint32_t>> keys(width);
    for (auto& column : keys) column.resize(x.n_rows);
    // A missing value takes the largest key there is, which no number has, and sorts to the end.
    constexpr uint32_t kMissing = 0xffffffffu;
    constexpr int64_t kTile = 256;
    parallel_for((x.n_rows + kTile - 1) / kTile, n_threads, kNanosecondsPerCode * kTile * width,
                 [&](int64_t tile) {
                   const int64_t begin = tile * kTile;
                   const int64_t end = std::min(x.n_rows, begin + kTile);
                   for (int32_t j = 0; j < width; ++j) {
                     const float* source = x.data + (first + j) * x.column_stride;
                     const float stand_in = fill[first + j];
                     uint32_t* target = keys[j].data();
                     for (int64_t i = begin; i < end; ++i) {
                       const float raw = source[i * x.row_stride];
                       const float value = std::isnan(raw) ? stand_in : raw;
                       const uint32_t key = sort_key(value);
                       target[i] = std::isnan(value) ? kMissing : key;
                     }
                   }
                 });
    parallel_for(width, n_threads, kNanosecondsPerSort * x.n_rows, [&](int64_t j) {
      thread_local std::vector<uint32_t> scratch;
      std::vector<uint32_t>& column = keys[j];
      const auto end = std::remove(column.begin(), column.end(), kMissing);
      const int64_t n_missing = column.end() - end;
      column.erase(end, column.end());
      found[first + j] = feature_bins(column, scratch, n_missing, max_bins);
      std::vector<uint32_t>().swap(column);
    });
  }
  auto bins = std::make_shared<Bins>();
  bins->fill = fill;
  bins->offsets.push_back(0);
  for (const FeatureBins& feature : found) {
    bins->cuts.insert(bins->cuts.end(), feature.cuts.begin(), feature.cuts.end());
    bins->offsets.push_back(static_cast<int64_t>(bins->cuts.size()));
    bins->has_missing.push_back(feature.has_missing);
    bins->has_infinity.push_back(feature.has_infinity);
  }
  return bins;
}

std::shared_ptr<BinnedMatrix> bin_matrix(const MatrixView& x, std::shared_ptr<const Bins> bins,
                                         const int64_t* rows, int64_t n_rows, int n_threads) {
  auto result = std::make_shared<BinnedMatrix>();
  result->bins = bins;
  result->n_rows = n_rows;
  const int32_t n_features = bins->n_features();
  for (int32_t f = 0; f < n_features; ++f) result->wide |= bins->n_bins(f) > kMaxBins8;
  const size_t size = static_cast<size_t>(n_rows) * n_features;
  if (result->wide) {
    result->codes16.resize(size);
  } else {
    result->codes8.resize(size);
  }
  const auto padded = padded_cuts(*bins);
  const int64_t row_chunk = std::min<int64_t>(16384, std::max<int64_t>(n_rows, 1));
  const int64_t n_row_chunks = (n_rows + row_chunk - 1) / row_chunk;
  const int64_t n_feature_blocks = (n_features + kFeatureBlock - 1) / kFeatureBlock;
  const double cost = kNanosecondsPerCode * row_chunk * kFeatureBlock;
  parallel_for(n_row_chunks * n_feature_blocks, n_threads, cost, [&](int64_t task) {
    const int64_t begin = task / n_feature_blocks * row_chunk;
    const int64_t end = std::min(n_rows, begin + row_chunk);
    const auto first = static_cast<int32_t>(task % n_feature_blocks * kFeatureBlock);
    const int32_t last = std::min(n_features, first + kFeatureBlock);
    if (result->wide) {
      code_block(x, *bins, rows, begin, end, first, last, padded, n_rows, result->codes16.data());
    } else {
      code_block(x, *bins, rows, begin, end, first, last, padded, n_rows, result->codes8.data());
    }
  });
  return result;
}

}  // namespace rankgrove
