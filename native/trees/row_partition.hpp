// Rows in node order: every node owns a contiguous range, in which rows ascend.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/binned_matrix.hpp"
#include "trees/split.hpp"

namespace rankgrove {

class RowPartition {
 public:
  explicit RowPartition(const BinnedMatrix& binned) : binned_(binned) {}

  // Starts over with one range that holds `rows` (all rows of the matrix if null). Splits use
  // `scratch`, a buffer of the same length whose contents are not kept between splits.
  void reset(const int32_t* rows, int64_t n_rows, int32_t* scratch, int n_threads);

  // Reorders a range, keeping the order within each side, and returns where the right side begins.
  int64_t split(int64_t begin, int64_t end, const CodeRule& rule, int n_threads);

  // Brings a range that was just split back to the order it had.
  void undo_split(int64_t begin, int64_t middle, int64_t end);

  // Adds to counts[code] the rows of a range by their code of one feature.
  void count_codes(int64_t begin, int64_t end, int32_t feature, int64_t* counts) const;

  const int32_t* rows() const { return rows_.data(); }
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }

 private:
  // `goes_left` tells it of every code.
  template <typename Code>
  int64_t split_by(const Code* codes, int64_t begin, int64_t end, const uint8_t* goes_left,
                   int n_threads);

  template <typename Code>
  int64_t split_block(const Code* codes, int64_t first, int64_t last, const uint8_t* goes_left);
  void copy_block(int64_t first, int64_t n_left, int64_t last, int64_t left, int64_t right);

  const BinnedMatrix& binned_;
  std::vector<int32_t> rows_;
  int32_t* scratch_ = nullptr;
  mutable std::vector<uint8_t> column8_;  // scratch for the codes of a sparse column
  mutable std::vector<uint16_t> column16_;
  std::vector<uint8_t> goes_left_;  // scratch of a split
};

}  // namespace rankgrove
