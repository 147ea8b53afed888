#include "scoring/columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "common/simd.hpp"

namespace rankgrove {

namespace {

template <typename V, typename T>
V read(T value, float up_to, float missing) {
  const V x = static_cast<V>(value);          // float64 rounds to the nearest float32
  return std::fabs(x) > up_to ? x : missing;  // false for NaN
}

// The value of a categorical column: its code, or `missing`.
template <typename V, typename T>
V read_category(T value, float up_to, float missing) {
  return category_code(value) == kNoCategory ? static_cast<V>(missing)
                                             : read<V>(value, up_to, missing);
}

// The key of such a value.
template <typename V>
uint32_t key_of_category(V value) {
  if (value != value) return kLastKey;
  return value < 0 ? kFirstKey : category_key(category_code(value));
}

#if RANKGROVE_X86
// The same as read<float>, for n values.
RANKGROVE_SIMD void read_values(const float* values, int32_t n, float up_to, float missing,
                                float* out) {
  for (int32_t i = 0; i < n; ++i) out[i] = read<float>(values[i], up_to, missing);
}

inline __m128 four_floats(const float* from) { return _mm_loadu_ps(from); }
inline __m128 four_floats(const double* from) {
  return _mm_movelh_ps(_mm_cvtpd_ps(_mm_loadu_pd(from)), _mm_cvtpd_ps(_mm_loadu_pd(from + 2)));
}

// Reads 4 rows (every other one) of 4 neighbouring features, which go to columns of a tile.
template <typename T>
void load_square(const T* values, const int64_t* row_offset, float* tile) {
  __m128 a = four_floats(values + row_offset[0]);
  __m128 b = four_floats(values + row_offset[2]);
  __m128 c = four_floats(values + row_offset[4]);
  __m128 d = four_floats(values + row_offset[6]);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_store_ps(tile, a);
  _mm_store_ps(tile + Columns::kTileRows, b);
  _mm_store_ps(tile + 2 * Columns::kTileRows, c);
  _mm_store_ps(tile + 3 * Columns::kTileRows, d);
}
#endif

}  // namespace

Columns::Columns(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
                 const MissingPolicy& policy)
    : row_width_(ensemble.n_features) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<uint8_t> known(2 * ensemble.n_features);
  for (int32_t tree : trees) {
    for (int64_t i = ensemble.tree_offsets[tree]; i < ensemble.tree_offsets[tree + 1]; ++i) {
      if (ensemble.is_leaf(i)) continue;
      const int32_t feature = ensemble.feature[i];
      const bool categorical = ensemble.has_set(i);
      const float fill = policy.fill.empty() || categorical ? nan : policy.fill[feature];
      const bool left = std::isnan(fill) && ensemble.missing_left[i];
      if (std::exchange(known[2 * int64_t{feature} + left], 1)) continue;
      columns_.push_back({feature, left, categorical,
                          policy.up_to.empty() ? -1.0f : policy.up_to[feature],
                          left ? -std::numeric_limits<float>::infinity() : fill});
    }
  }
  std::ranges::sort(columns_, {},
                    [](const Column& c) { return std::make_tuple(c.feature, c.missing_left); });
  for (int32_t c = 0; c < size(); ++c) {
    if (c == 0 || !has_twin(c - 1)) first_columns_.push_back(c);
  }
  if (!ensemble.precise.empty()) collect_cuts(ensemble, trees);
}

void Columns::collect_cuts(const EnsembleArrays& ensemble, std::span<const int32_t> trees) {
  std::vector<std::vector<double>> of_feature(ensemble.n_features);
  for (int32_t tree : trees) {
    for (int64_t i = ensemble.tree_offsets[tree]; i < ensemble.tree_offsets[tree + 1]; ++i) {
      if (ensemble.is_leaf(i) || ensemble.has_set(i)) continue;
      of_feature[ensemble.feature[i]].push_back(ensemble.precise[i]);
    }
  }
  cut_offsets_.push_back(0);
  for (auto& cuts : of_feature) {
    std::ranges::sort(cuts);
    const auto repeated = std::ranges::unique(cuts);
    cuts_.insert(cuts_.end(), cuts.begin(), repeated.begin());
    cut_offsets_.push_back(static_cast<int64_t>(cuts_.size()));
  }
}

uint32_t Columns::key(int32_t, float value) const { return order_key(value); }

uint32_t Columns::key(int32_t c, double value) const {
  if (value != value) return kLastKey;
  const auto below = cuts(c);
  return kFirstKey + static_cast<uint32_t>(std::ranges::lower_bound(below, value) - below.begin());
}

uint32_t Columns::threshold_key(const EnsembleArrays& ensemble, int64_t node) const {
  if (cut_offsets_.empty()) return order_key(ensemble.threshold[node]);
  return key(find(ensemble.feature[node], false), ensemble.precise[node]);
}

int32_t Columns::find(int32_t feature, bool missing_left) const {
  const auto it = std::ranges::lower_bound(columns_, feature, {}, &Column::feature);
  // Two columns of a feature differ in the direction of missing values; a single one fits all.
  const auto c = static_cast<int32_t>(it - columns_.begin());
  return missing_left && has_twin(c) ? c + 1 : c;
}

int32_t Columns::row_position(int32_t feature, bool missing_left) const {
  const int32_t c = find(feature, false);
  const auto at = std::ranges::lower_bound(first_columns_, c) - first_columns_.begin();
  return static_cast<int32_t>(at) + (missing_left && has_twin(c) ? twin_position() : 0);
}

int32_t Columns::square_end(int32_t first, int32_t last) const {
  int32_t c = first;
  while (c < last && !columns_[c].categorical &&
         columns_[c].feature < columns_[first].feature + 4) {
    ++c;
  }
  return c;
}

#if RANKGROVE_X86
template <typename T>
void Columns::load_squares(const StridedRows<T>& matrix, const int64_t* row_offset,
                           int32_t n_tile_rows, int32_t first, int32_t last, float* tile) const {
  const int32_t feature = std::min(columns_[first].feature, row_width_ - 4);
  const T* values = matrix.data + feature;
  alignas(64) float features[4][kTileRows];
  for (int32_t i = 0; i < n_tile_rows; i += 8) {
    for (int32_t odd = 0; odd < 2; ++odd) {
      load_square(values, row_offset + i + odd, &features[0][tile_position<float>(i + odd)]);
    }
  }
  // The last group of 32 may have 8 rows only, which lie in its first 16 places.
  const int32_t n_places = n_tile_rows % 32 == 0 ? n_tile_rows : n_tile_rows + 8;
  for (int32_t c = first; c < last; ++c, tile += kTileRows) {
    const Column& column = columns_[c];
    read_values(features[column.feature - feature], n_places, column.up_to, column.missing, tile);
  }
}
#endif

template <typename T, typename V>
void Columns::load_by_column(const StridedRows<T>& matrix, int32_t n_rows, int32_t first,
                             int32_t last, V* tile) const {
  const int32_t n_tile_rows = tile_rows(n_rows);
  int64_t row_offset[kTileRows];
  for (int32_t i = 0; i < n_tile_rows; ++i) {
    row_offset[i] = std::min(i, n_rows - 1) * matrix.row_stride;
  }
  // The columns after these are brought into the cache meanwhile.
  const Column& ahead = columns_[std::min(2 * last - first, size()) - 1];
  for (int32_t i = 0; i < n_rows; ++i) {
    __builtin_prefetch(matrix.data + row_offset[i] + ahead.feature * matrix.column_stride);
  }
  for (int32_t c = first; c < last;) {
    V* out = tile + static_cast<int64_t>(c - first) * kTileRows;
    const T* values = matrix.data + columns_[c].feature * matrix.column_stride;
#if RANKGROVE_X86
    if constexpr (sizeof(V) == sizeof(float)) {
      const int32_t end = square_end(c, last);
      if (matrix.column_stride == 1 && row_width_ >= 4 && end > c) {
        load_squares(matrix, row_offset, n_tile_rows, c, end, out);
        c = end;
        continue;
      }
    }
#endif
    const Column& column = columns_[c++];
    if (column.categorical) {
      for (int32_t i = 0; i < n_tile_rows; ++i) {
        out[tile_position<V>(i)] =
            read_category<V>(values[row_offset[i]], column.up_to, column.missing);
      }
      continue;
    }
    for (int32_t i = 0; i < n_tile_rows; ++i) {
      out[tile_position<V>(i)] = read<V>(values[row_offset[i]], column.up_to, column.missing);
    }
  }
}

template <typename T>
bool Columns::load_keys(const StridedRows<T>& matrix, int32_t n_rows, bool twins, uint32_t* keys,
                        int32_t width) const {
  return cut_offsets_.empty() ? load_keys_as<float>(matrix, n_rows, twins, keys, width)
                              : load_keys_as<double>(matrix, n_rows, twins, keys, width);
}

template <typename V, typename T>
bool Columns::load_keys_as(const StridedRows<T>& matrix, int32_t n_rows, bool twins, uint32_t* keys,
                           int32_t width) const {
  bool needs_twins = false;
  for (int32_t start = 0; start < n_rows; start += kLanes) {
    const T* rows[kLanes];
    for (int32_t lane = 0; lane < kLanes; ++lane) {
      rows[lane] = matrix.data + std::min(start + lane, n_rows - 1) * matrix.row_stride;
    }
    const auto load = [&](int32_t c, uint32_t* out) {
      const Column column = columns_[c];
      const int64_t offset = column.feature * matrix.column_stride;
      if (column.categorical) {
        for (int32_t lane = 0; lane < kLanes; ++lane) {
          out[lane] =
              key_of_category(read_category<V>(rows[lane][offset], column.up_to, column.missing));
        }
        return;
      }
      V x[kLanes];
      for (int32_t lane = 0; lane < kLanes; ++lane) x[lane] = static_cast<V>(rows[lane][offset]);
      for (V& value : x) value = read<V>(value, column.up_to, column.missing);
      for (int32_t lane = 0; lane < kLanes; ++lane) out[lane] = key(c, x[lane]);
    };
    uint32_t* out = keys + static_cast<int64_t>(start) * width;
    for (int32_t c : first_columns_) {
      load(c, out);
      if (has_twin(c)) {  // so there is no fill value, and missing values are NaN
        if (twins) {
          load(c + 1, out + static_cast<int64_t>(twin_position()) * kLanes);
        } else {
          needs_twins |= *std::max_element(out, out + kLanes) == kLastKey;
        }
      }
      out += kLanes;
    }
  }
  return needs_twins;
}

template void Columns::load_by_column(const StridedRows<float>&, int32_t, int32_t, int32_t,
                                      float*) const;
template void Columns::load_by_column(const StridedRows<double>&, int32_t, int32_t, int32_t,
                                      float*) const;
template void Columns::load_by_column(const StridedRows<float>&, int32_t, int32_t, int32_t,
                                      double*) const;
template void Columns::load_by_column(const StridedRows<double>&, int32_t, int32_t, int32_t,
                                      double*) const;
template bool Columns::load_keys(const StridedRows<float>&, int32_t, bool, uint32_t*,
                                 int32_t) const;
template bool Columns::load_keys(const StridedRows<double>&, int32_t, bool, uint32_t*,
                                 int32_t) const;

}  // namespace rankgrove
