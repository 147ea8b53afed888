// The codes of sparse columns row by row: what their part of a histogram is built from.
//
// Columns are cut into groups whose part of the histogram fits the second-level cache. A group's
// entries name bins of the whole histogram in 32 bits; threads share the groups, so that no part of
// a histogram is written by two of them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/large_pages.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/histogram_layout.hpp"

namespace rankgrove {

class SparseRows {
 public:
  SparseRows(const BinnedMatrix& binned, const HistogramLayout& layout, int n_threads);

  // Whether no column is sparse.
  bool empty() const { return groups_.empty(); }

  // Writes the bins of sparse columns for rows[begin..end) (rows begin..end if `rows` is null),
  // whose words add up to `total`; the bins of dense columns become 0.
  void build(const int64_t* words, const int32_t* rows, int64_t begin, int64_t end, int64_t total,
             int n_threads, int64_t* histogram) const;

 private:
  static constexpr int32_t kGroupBins = 1 << 17;

  struct Group {
    int32_t first_feature, last_feature;
    LargeVector<uint32_t> starts;   // of each row's entries, n_rows + 1
    LargeVector<uint32_t> entries;  // bins
  };

  template <typename Code>
  void fill_group(const BinnedMatrix& binned, Group& group) const;
  static void accumulate(const Group& group, const int64_t* words, const int32_t* rows,
                         int64_t begin, int64_t end, int64_t* histogram);
  void complete(const Group& group, int64_t total, int64_t* histogram) const;

  HistogramLayout layout_;
  std::vector<int32_t> usual_;        // code of each sparse column's rows that are not listed
  double nanoseconds_per_row_ = 0.0;  // of accumulating one group, on average
  std::vector<Group> groups_;
};

}  // namespace rankgrove
