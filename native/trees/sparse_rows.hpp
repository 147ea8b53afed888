// The codes of sparse columns, row by row, from which their part of a histogram is built.
//
// Columns are cut into groups whose part of the histogram fits the second-level cache. A group's
// entries are numbers of bins of the whole histogram in 32 bits. Threads divide the groups among
// themselves, so no two threads write the same part of a histogram.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/large_pages.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/histogram_layout.hpp"

namespace rankgrove {

// The histogram of rows[begin..end) (rows begin..end if `rows` is null), yet to be built.
struct PendingHistogram {
  int64_t begin = 0, end = 0;
  int64_t* histogram = nullptr;
  const int32_t* rows = nullptr;
  int64_t total = 0;  // of the rows' words
};

class SparseRows {
 public:
  // Calls for features first..last.
  using Visit = std::function<void(int32_t first, int32_t last)>;

  SparseRows(const BinnedMatrix& binned, const HistogramLayout& layout, int n_threads);

  // Whether no column is sparse.
  bool empty() const { return groups_.empty(); }

  // The cost of adding up the entries of one row.
  double nanoseconds_per_row() const {
    return nanoseconds_per_row_ * static_cast<double>(groups_.size());
  }

  // Writes the bins of sparse columns into histograms whose totals are known. Visits every feature
  // of the matrix, once the bins of its group are written and while they are in the cache; a visit
  // of one feature costs `nanoseconds`.
  void build(const int64_t* words, std::span<const PendingHistogram> wanted, int n_threads,
             double nanoseconds, const Visit& visit) const;

 private:
  static constexpr int32_t kGroupBins = 1 << 17;

  struct Group {
    int32_t first_feature, last_feature;
    LargeVector<uint32_t> starts;   // of each row's entries, n_rows + 1
    LargeVector<uint32_t> entries;  // bins
  };

  template <typename Code>
  void fill_group(const BinnedMatrix& binned, Group& group) const;
  static void accumulate(const Group& group, const int64_t* words, const PendingHistogram& wanted);
  void clear(const Group& group, int64_t* histogram) const;
  void complete(const Group& group, int64_t total, int64_t* histogram) const;

  HistogramLayout layout_;
  std::vector<int32_t> usual_;        // code of each sparse column's rows that are not listed
  double nanoseconds_per_row_ = 0.0;  // of accumulating one group, on average
  std::vector<Group> groups_;
};

}  // namespace rankgrove
