// The bin codes row by row, without each feature's commonest bin: what histograms are built from.
//
// A histogram has one 64-bit word per bin of each feature (missing values have a bin of their own
// at the feature's end). Scattered additions are the cost of tree growing, and on ranking data more
// than a third of all codes are their feature's commonest one (often zero): those are left out
// here, and their bin is recovered from the node's total. Features are cut into groups whose part
// of the histogram fits the cache and whose bins can be numbered in 16 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/binned_matrix.hpp"

namespace rankgrove {

// Where each feature's bins stand in a histogram.
struct HistogramLayout {
  explicit HistogramLayout(const Bins& bins);

  std::vector<int32_t> start;    // first bin of each feature, n_features + 1
  std::vector<int32_t> n_bins;   // value bins; the missing bin, if any, comes next
  std::vector<uint8_t> missing;  // whether the feature has a missing bin
  int32_t size() const { return start.back(); }
  int32_t n_features() const { return static_cast<int32_t>(n_bins.size()); }
};

class RowStore {
 public:
  RowStore(const BinnedMatrix& binned, const HistogramLayout& layout, int n_threads);

  // Writes the histogram of rows[begin..end) (of rows begin..end if `rows` is null) to `histogram`,
  // layout.size() words. `scratch` holds one partial histogram per further thread.
  void build(const int64_t* words, const int32_t* rows, int64_t begin, int64_t end, int n_threads,
             std::vector<std::vector<int64_t>>& scratch, int64_t* histogram) const;

 private:
  // Entries of one row come in whole packs; a short last pack is filled up with a bin of no
  // feature.
  static constexpr int kPack = 4;
  static constexpr int32_t kGroupBins = 32768;

  struct Group {
    int32_t first_feature, last_feature;
    int32_t first_bin, n_bins;
    std::vector<uint32_t> packs;    // n_rows + 1: where each row's packs begin
    std::vector<uint16_t> entries;  // bins, counted from first_bin; n_bins is the bin of no feature
  };

  void fill_group(const BinnedMatrix& binned, Group& group, int n_threads);
  template <typename Code>
  void count_rows(const BinnedMatrix& binned, Group& group, int64_t begin, int64_t end) const;
  template <typename Code>
  void fill_rows(const BinnedMatrix& binned, Group& group, int64_t begin, int64_t end) const;
  void accumulate(const Group& group, const int64_t* words, const int32_t* rows, int64_t begin,
                  int64_t end, int64_t* histogram) const;
  void complete(int64_t total, int32_t first_feature, int32_t last_feature,
                int64_t* histogram) const;

  HistogramLayout layout_;
  double nanoseconds_per_row_ = 0.0;  // of accumulating, over all groups
  std::vector<int32_t> commonest_;    // code of each feature's commonest bin
  std::vector<Group> groups_;
};

}  // namespace rankgrove
