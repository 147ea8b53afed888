// The columns of the input that a group of trees reads, and their way into a tile: of float32, or
// of float64 for trees with precise thresholds.
//
// A *column* is a feature together with the value that stands in for a missing one: the model's
// fill value, else -inf for splits that send missing rows left and NaN for those that send them
// right. So `!(value <= threshold)` alone says that a row goes right, as no threshold is NaN or
// -inf. Of a categorical feature, values that are no code are missing, too, and fill values do not
// replace them.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "scoring/ensemble.hpp"

namespace rankgrove {

// Rows of a borrowed matrix with any strides (in elements).
template <typename T>
struct StridedRows {
  const T* data;
  int64_t n_rows;
  int64_t row_stride;
  int64_t column_stride;

  StridedRows from_row(int64_t row) const {
    return {data + row * row_stride, n_rows - row, row_stride, column_stride};
  }
};

// What counts as missing and what replaces it, per feature; an empty vector is the default.
struct MissingPolicy {
  std::vector<float> fill;   // replaces a missing value; NaN (the default) leaves it to the splits
  std::vector<float> up_to;  // magnitudes up to this are missing too; negative (the default): none
};

class Columns {
 public:
  // All columns that the splits of these trees read, in ascending order of feature.
  Columns(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
          const MissingPolicy& policy);

  int32_t size() const { return static_cast<int32_t>(columns_.size()); }

  // The column that a split of one of the trees reads.
  int32_t find(int32_t feature, bool missing_left) const;

  // tile[(column - first) * kTileRows + tile_position<V>(i)] = the value of row i, for the columns
  // [first, last) and the first n_rows rows of the matrix (at most kTileRows); the last row fills
  // what is left of tile_rows(n_rows).
  static constexpr int32_t kTileRows = 256;
  template <typename T, typename V>
  void load_by_column(const StridedRows<T>& matrix, int32_t n_rows, int32_t first, int32_t last,
                      V* tile) const;

  // In a row, features come in ascending order, and those whose missing values go both ways come
  // again at twin_position: there, missing values go left. Rows without such values do without.
  int32_t n_features() const { return static_cast<int32_t>(first_columns_.size()); }
  int32_t twin_position() const {
    return static_cast<int32_t>(std::bit_ceil(first_columns_.size()));
  }
  // The position of a split's feature in a row with twins; modulo twin_position in one without.
  int32_t row_position(int32_t feature, bool missing_left) const;

  // The key of a split's threshold: a row goes right if the key of its value is greater.
  uint32_t threshold_key(const EnsembleArrays& ensemble, int64_t node) const;

  // keys[(i / kLanes * width + position) * kLanes + i % kLanes] = the order key of row i's value;
  // the last row fills the lanes that are left. Without twins, tells whether rows need them.
  static constexpr int32_t kLanes = 8;
  template <typename T>
  bool load_keys(const StridedRows<T>& matrix, int32_t n_rows, bool twins, uint32_t* keys,
                 int32_t width) const;

 private:
  struct Column {
    int32_t feature;
    uint8_t missing_left;
    uint8_t categorical;
    float up_to;    // magnitudes up to this, and NaN, are missing
    float missing;  // replaces them
  };

  // The end of the columns from `first` on that read 4 neighbouring features, all numbers.
  int32_t square_end(int32_t first, int32_t last) const;
  // Loads such columns by squares of 4 rows and 4 features, wherever a row is contiguous.
  template <typename T>
  void load_squares(const StridedRows<T>& matrix, const int64_t* row_offset, int32_t n_tile_rows,
                    int32_t first, int32_t last, float* tile) const;

  // Tells whether the column after this one is the same feature, with missing values going left.
  bool has_twin(int32_t c) const {
    return c + 1 < size() && columns_[c + 1].feature == columns_[c].feature;
  }

  // The thresholds of a column's feature, if they are precise; a value's key is then the number of
  // those below it.
  std::span<const double> cuts(int32_t c) const {
    const int64_t begin = cut_offsets_[columns_[c].feature];
    return {cuts_.data() + begin, cuts_.data() + cut_offsets_[columns_[c].feature + 1]};
  }
  uint32_t key(int32_t c, float value) const;
  uint32_t key(int32_t c, double value) const;
  void collect_cuts(const EnsembleArrays& ensemble, std::span<const int32_t> trees);
  template <typename V, typename T>
  bool load_keys_as(const StridedRows<T>& matrix, int32_t n_rows, bool twins, uint32_t* keys,
                    int32_t width) const;

  int32_t row_width_;  // features of a row, read by a split or not
  std::vector<Column> columns_;
  std::vector<int32_t> first_columns_;  // of each feature
  std::vector<double> cuts_;            // ascending within a feature
  std::vector<int64_t> cut_offsets_;    // of each feature; empty if thresholds are float32
};

// Numbers in the order of values: x <= y as order_key(x) <= order_key(y), and NaN comes last. None
// is below kFirstKey.
constexpr uint32_t kFirstKey = 0x007fffff;   // of -inf
constexpr uint32_t kLastKey = ~uint32_t{0};  // of NaN
inline uint32_t order_key(float x) {
  const auto bits = std::bit_cast<uint32_t>(x + 0.0f);  // -0 becomes +0
  const auto negative = static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31);
  return x != x ? kLastKey : bits ^ (negative | 0x80000000u);
}

// The key of a category: above that of -inf and below that of NaN.
inline uint32_t category_key(uint32_t code) { return kFirstKey + 1 + code; }

// Where row i of 32 lies in a tile by column. Vectors of 8 hold rows {0, 2, 4, 6, 16, 18, 20, 22},
// {1, 3, .. 23}, {8, 10, .. 30} and {9, 11, .. 31}, so that blending the outcomes of comparisons
// two by two and packing them restores the order of rows.
template <typename V>
constexpr int32_t tile_position(int32_t i) {
  const int32_t at =
      (i & ~31) | (i >> 3 & 1) << 4 | (i & 1) << 3 | (i >> 4 & 1) << 2 | (i >> 1 & 3);
  // Of each 8, two vectors of 4 doubles hold the even and the odd ones, to be blended likewise.
  return sizeof(V) == sizeof(float) ? at : (at & ~7) | (at & 1) << 2 | (at >> 1 & 3);
}

// How many rows such a tile holds: full groups of 32, and at the end 8 if that is enough.
constexpr int32_t tile_rows(int32_t n_rows) {
  const int32_t rest = n_rows % 32;
  return n_rows - rest + (rest == 0 ? 0 : rest <= 8 ? 8 : 32);
}

}  // namespace rankgrove
