// The columns of the input that a group of trees reads, and their way into a tile of float32.
//
// A *column* is a feature together with the value that stands in for a missing one: the model's
// fill value, else -inf for splits that send missing rows left and NaN for those that send them
// right. So `!(value <= threshold)` alone says that a row goes right, as no threshold is NaN or
// -inf.
#pragma once

#include <cstdint>
#include <vector>

namespace rankgrove {

// A borrowed matrix with any strides (in elements).
template <typename T>
struct MatrixView {
  const T* data;
  int64_t n_rows;
  int64_t row_stride;
  int64_t column_stride;
};

// What counts as missing and what replaces it, per feature; an empty vector is the default.
struct MissingPolicy {
  std::vector<float> fill;   // replaces a missing value; NaN (the default) leaves it to the splits
  std::vector<float> up_to;  // magnitudes up to this are missing too; negative (the default): none
};

class Columns {
 public:
  explicit Columns(MissingPolicy policy) : policy_(std::move(policy)) {}

  // The number of the column that a split reads; adds it if it is new.
  int32_t find_or_add(int32_t feature, bool missing_left);

  int32_t size() const { return static_cast<int32_t>(feature_.size()); }
  int32_t feature(int32_t column) const { return feature_[column]; }
  float missing(int32_t column) const { return missing_[column]; }

  // tile[column * stride + i] = the value of row first_row + i.
  template <typename T>
  void load_by_column(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows,
                      int32_t first_column, int32_t last_column, float* tile, int32_t stride) const;

  // tile[i * stride + column] = the value of row first_row + i.
  template <typename T>
  void load_by_row(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows, float* tile,
                   int32_t stride) const;

 private:
  MissingPolicy policy_;
  std::vector<int32_t> feature_;
  std::vector<float> missing_;
  std::vector<float> up_to_;
  std::vector<int32_t> column_of_;  // 2 * feature + missing_left -> column or -1
};

}  // namespace rankgrove
