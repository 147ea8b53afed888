// Bins of a feature of a node, of which every prefix is a candidate for the left child.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace rankgrove {

struct PrefixBins {
  const int64_t* bins;        // packed sums
  const int64_t* row_counts;  // rows, or null
  int32_t n;                  // candidates: bins 0..i go left, for i < n
  int64_t missing;            // packed sum of the missing bin, part of the left child on demand
  int64_t missing_rows;       // if rows are counted
  int64_t node_rows;
  double more_l2;                     // of the children
  const double* penalties = nullptr;  // off the score of each candidate, or null
};

// Some bins of a feature, in any order; one empty bin if the list is empty.
class ListedBins {
 public:
  // `bins`, and `row_counts` unless it is null, have n_bins entries and that of missing values.
  ListedBins(std::span<const int32_t> list, const int64_t* bins, const int64_t* row_counts,
             int32_t n_bins, double more_l2, const double* penalties)
      : missing_(bins[n_bins]),
        counted_(row_counts != nullptr),
        more_l2_(more_l2),
        penalties_(penalties) {
    for (const int32_t code : list) bins_.push_back(bins[code]);
    if (list.empty()) bins_.push_back(0);
    if (!counted_) return;
    for (const int32_t code : list) rows_.push_back(row_counts[code]);
    if (list.empty()) rows_.push_back(0);
    missing_rows_ = row_counts[n_bins];
    node_rows_ = std::accumulate(row_counts, row_counts + n_bins, missing_rows_);
  }

  PrefixBins prefixes() const {
    return {bins_.data(),
            counted_ ? rows_.data() : nullptr,
            static_cast<int32_t>(bins_.size()),
            missing_,
            missing_rows_,
            node_rows_,
            more_l2_,
            penalties_};
  }

 private:
  std::vector<int64_t> bins_, rows_;
  int64_t missing_, missing_rows_ = 0, node_rows_ = 0;
  bool counted_;
  double more_l2_;
  const double* penalties_;
};

}  // namespace rankgrove
