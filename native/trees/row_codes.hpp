// The bin codes of a small matrix, row by row. Nodes of few rows are searched with these codes,
// without a histogram.
//
// Most nodes of a large tree on small data have fewer rows than a feature has bins. Moving and
// subtracting their histograms would cost more than building them from the rows, one feature after
// the other and only for the features that are searched, in a buffer that stays in the L1 cache.
//
// Example: the rows 2 and 5 have the words 10 and 7, the codes 0 and 3 of feature 1 and the code 4
// of feature 6. Adding up the features 1 and 6 over both rows makes bins[0] = 10 and bins[3] = 7,
// which are of feature 1, and bins[264 + 4] = 17, which is of feature 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/binned_matrix.hpp"
#include "trees/histogram_layout.hpp"

namespace rankgrove {

class RowCodes {
 public:
  // Number of features that are added up at once. (Additions to the bins of one feature wait for
  // each other if neighbouring rows have the same code.)
  static constexpr int kAtOnce = 4;
  static constexpr int kWords = 264;  // of each feature's bins

  // Without codes if the matrix is large, sparse, mapped or has codes of 16 bits, or codes of
  // missing values that have no bin.
  RowCodes(const BinnedMatrix& binned, const HistogramLayout& layout);

  bool empty() const { return codes_.empty(); }

  // Adds the words of some rows to the bins of up to kAtOnce features, each kWords after the other.
  void add_up(std::span<const int32_t> features, const int64_t* words,
              std::span<const int32_t> rows, int64_t* bins) const;

 private:
  int64_t width_;
  std::vector<uint8_t> codes_;  // n_rows x width
};

}  // namespace rankgrove
