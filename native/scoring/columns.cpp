#include "scoring/columns.hpp"

#include <cmath>
#include <limits>

namespace rankgrove {

namespace {

template <typename T>
float read(const T* value, float up_to, float missing) {
  const float x = static_cast<float>(*value);  // float64 rounds to the nearest float32
  return std::fabs(x) > up_to ? x : missing;   // false for NaN
}

}  // namespace

int32_t Columns::find_or_add(int32_t feature, bool missing_left) {
  const float fill =
      policy_.fill.empty() ? std::numeric_limits<float>::quiet_NaN() : policy_.fill[feature];
  if (!std::isnan(fill)) missing_left = false;
  const size_t slot = 2 * static_cast<size_t>(feature) + missing_left;
  if (slot >= column_of_.size()) column_of_.resize(slot + 1, -1);
  if (column_of_[slot] < 0) {
    column_of_[slot] = size();
    feature_.push_back(feature);
    missing_.push_back(missing_left ? -std::numeric_limits<float>::infinity() : fill);
    up_to_.push_back(policy_.up_to.empty() ? -1.0f : policy_.up_to[feature]);
  }
  return column_of_[slot];
}

template <typename T>
void Columns::load_by_column(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows,
                             int32_t first_column, int32_t last_column, float* tile,
                             int32_t stride) const {
  for (int32_t c = first_column; c < last_column; ++c) {
    const T* values =
        matrix.data + first_row * matrix.row_stride + feature_[c] * matrix.column_stride;
    float* out = tile + static_cast<int64_t>(c - first_column) * stride;
    for (int32_t i = 0; i < n_rows; ++i)
      out[i] = read(values + i * matrix.row_stride, up_to_[c], missing_[c]);
  }
}

template <typename T>
void Columns::load_by_row(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows,
                          float* tile, int32_t stride) const {
  const int32_t n_columns = size();
  for (int32_t i = 0; i < n_rows; ++i) {
    const T* row = matrix.data + (first_row + i) * matrix.row_stride;
    float* out = tile + static_cast<int64_t>(i) * stride;
    for (int32_t c = 0; c < n_columns; ++c) {
      out[c] = read(row + feature_[c] * matrix.column_stride, up_to_[c], missing_[c]);
    }
  }
}

template void Columns::load_by_column(const MatrixView<float>&, int64_t, int32_t, int32_t, int32_t,
                                      float*, int32_t) const;
template void Columns::load_by_column(const MatrixView<double>&, int64_t, int32_t, int32_t, int32_t,
                                      float*, int32_t) const;
template void Columns::load_by_row(const MatrixView<float>&, int64_t, int32_t, float*,
                                   int32_t) const;
template void Columns::load_by_row(const MatrixView<double>&, int64_t, int32_t, float*,
                                   int32_t) const;

}  // namespace rankgrove
