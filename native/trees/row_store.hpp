// The bin codes row by row: what histograms are built from.
//
// A histogram has one 64-bit word per bin of each feature (missing values have a bin of their own
// at the feature's end). Scattered additions take most of the time of tree growing, and on ranking
// data more than a third of all codes are the most common one of their feature (often zero). So
// features are stored in one of two ways, whichever is smaller and faster: a *full* feature has a
// byte in every row; of *listed* features, a row lists the bins that are not the most common one,
// whose sum is recovered from the total of the node. Features are divided into groups whose part of
// the histogram fits the cache and whose bins can be numbered in 16 bits. While rows are added up,
// a group has words of its own: those of the full features first, 264 for each so that a code is
// added at a fixed distance, then those of the listed ones. Sparse columns of the matrix have rows
// of their own (see SparseRows).
//
// Example, by the share that counts for many rows: six rows with words w0 .. w5; feature 0 has
// three bins and the codes 0 0 0 0 1 2, feature 1 has six bins and the codes 0 1 2 3 4 5. Two of
// six codes of feature 0 are not the most common one: it is listed. In feature 1, five of six are
// not: it is full. The group then has
//   codes    0 1 2 3 4 5                of feature 1, one byte per row
//   packs    0 0 0 0 0 1 2              row 4 has the first pack, row 5 the second, others none
//   entries  1 3 3 3 | 2 3 3 3          bins of feature 0; 3 is the bin of no feature
// Adding up all rows gives, apart from the bin of no feature,
//   sums     w0 w1 w2 w3 w4 w5 0 ... 0 | 0 w4 w5     (264 words for feature 1, then feature 0)
// and the histogram is  total - w4 - w5, w4, w5 | w0, w1, w2, w3, w4, w5: six additions for the
// full feature, two (and padding) for the listed one.
//
// There are as many groups as threads. Each thread takes the features of one group: only this
// thread writes their sums, which stay in its cache. If there are too many threads for that (or
// sparse columns, or too many bins), the threads divide the rows of a histogram and then add up
// their parts: for two threads and 25,000 bins, that took some 60 us of waiting and moving sums
// between cores per node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/table_memory.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/histogram_layout.hpp"
#include "trees/sparse_rows.hpp"

namespace rankgrove {

class RowStore {
 public:
  RowStore(const BinnedMatrix& binned, const HistogramLayout& layout, int n_threads);

  // Writes the histogram of rows[begin..end) (of rows begin..end if `rows` is null) to `histogram`,
  // layout.size() words. `scratch` holds one partial histogram per thread, of zeros between calls.
  void build(const int64_t* words, const int32_t* rows, int64_t begin, int64_t end, int n_threads,
             std::vector<std::vector<int64_t>>& scratch, int64_t* histogram) const;

  // Whether there are sparse columns; and several histograms with them, as SparseRows::build has
  // it, whose totals are set.
  bool has_sparse() const { return !sparse_.empty(); }
  void build(const int64_t* words, std::span<PendingHistogram> wanted, int n_threads,
             std::vector<std::vector<int64_t>>& scratch, double nanoseconds,
             const SparseRows::Visit& visit) const;

  // Whether histograms can be built by groups of features. If so, every feature is in a group.
  bool by_groups() const { return by_groups_; }
  int64_t n_groups() const { return std::ssize(groups_); }

  // The two steps of a histogram by groups. First rows are added up, as above, in `sums`, a buffer
  // for the group that holds zeros between histograms; returns the sum of their words. Then the
  // bins of the group's features, counted from 0, are taken out of it, in any order; returns the
  // feature.
  int64_t add_up(int64_t group, const int64_t* words, const int32_t* rows, int64_t begin,
                 int64_t end, std::vector<int64_t>& sums) const;
  int64_t n_features(int64_t group) const {
    return std::ssize(groups_[group].full) + std::ssize(groups_[group].listed);
  }
  int32_t take_feature(int64_t group, int64_t number, int64_t total, std::vector<int64_t>& sums,
                       int64_t* histogram) const;

  // The cost of the histogram of this many rows.
  double nanoseconds(int64_t n_rows) const {
    return (nanoseconds_per_row_ + sparse_.nanoseconds_per_row()) * static_cast<double>(n_rows);
  }

 private:
  // Entries of one row come in whole packs; a short last pack is filled up with a bin of no
  // feature.
  static constexpr int kPack = 4;
  static constexpr int32_t kGroupBins = 32768;

  // A feature is full if more than this share of its codes are not the most common one: a byte per
  // row is then smaller than two bytes per listed code, and faster. While all codes stay in the
  // cache (up to kFewCodes of them), size does not matter, and the number of packs, which varies
  // from row to row and is mispredicted, costs more than the additions that lists save.
  static constexpr double kFullShare = 0.5;
  static constexpr double kFullShareOfFew = 0.125;
  static constexpr int64_t kFewCodes = int64_t{1} << 20;
  // Words of a full feature: 256 and a cache line more. With 256, bins of the same number have
  // addresses that differ by multiples of 2048 bytes for all features, and share a few sets of the
  // cache (48 KB in 12 ways: 4096 bytes apart is the same set). Adding up took twice as long.
  static constexpr int64_t kFullWords = 264;

  struct Group {
    int32_t n_bins = 0;                    // of all features
    std::vector<int32_t> full, listed;     // features
    std::vector<int32_t> listed_start{0};  // the first bin of each listed feature, and their end
    Table<uint8_t> codes;                  // n_rows x full features
    Table<uint32_t> packs;    // n_rows + 1: where each row's packs begin; empty: none is listed
    Table<uint16_t> entries;  // bins of listed features; their end is the bin of no feature

    void add(int32_t feature, int32_t n_feature_bins, bool is_full) {
      n_bins += n_feature_bins;
      (is_full ? full : listed).push_back(feature);
      if (!is_full) listed_start.push_back(listed_start.back() + n_feature_bins);
    }
    int64_t full_words() const { return kFullWords * static_cast<int64_t>(full.size()); }
    int64_t n_words() const {
      return full_words() + (listed.empty() ? 0 : listed_start.back() + 1);
    }
  };

  void choose_commonest(const BinnedMatrix& binned, int n_threads);
  void make_groups(const BinnedMatrix& binned, int n_threads);
  static int64_t most_listed(int64_t n_rows);
  void share_features(int64_t n_rows, int64_t n_shares);
  void fill_groups_in_turn(const BinnedMatrix& binned);
  void fill_group(const BinnedMatrix& binned, Group& group, int n_threads);
  template <typename Code>
  void count_rows(const BinnedMatrix& binned, Group& group, int64_t begin, int64_t end) const;
  template <typename Code>
  void list_rows(const BinnedMatrix& binned, Group& group, int64_t begin, int64_t end) const;
  void copy_rows(const BinnedMatrix& binned, Group& group, int64_t begin, int64_t end) const;
  // All three return the sum of the rows' words.
  int64_t accumulate(const Group& group, const int64_t* words, const int32_t* rows, int64_t begin,
                     int64_t end, int64_t* sums) const;
  template <bool kListed>
  int64_t accumulate_rows(const Group& group, const int64_t* words, const int32_t* rows,
                          int64_t begin, int64_t end, int64_t* sums) const;
  int64_t build_dense(const int64_t* words, const PendingHistogram& wanted, int n_threads,
                      std::vector<std::vector<int64_t>>& scratch) const;
  int32_t take_out(const Group& group, int64_t number, std::span<std::vector<int64_t>> parts,
                   int64_t offset, int64_t total, int64_t* histogram) const;

  HistogramLayout layout_;
  double nanoseconds_per_row_ = 0.0;  // of accumulating, over all groups
  std::vector<int32_t> commonest_;    // code of each feature's commonest bin
  std::vector<uint8_t> is_full_;      // whether the feature has a byte in every row
  std::vector<double> added_share_;   // of the rows: those in which the feature's code is added
  std::vector<Group> groups_;         // of dense columns
  bool by_groups_ = false;
  SparseRows sparse_;
};

}  // namespace rankgrove
