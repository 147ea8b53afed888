// Binning: from columns of numbers to bins, and from bins to codes, a few columns at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/column_table.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/feature_bins.hpp"

namespace rankgrove {

// Finds at most max_bins bins per feature: one per distinct value where these are few, else bins by
// the rule of the limit. `fill` has one value per
// feature.
class BinFinder {
 public:
  BinFinder(const BinLimit& limit, std::vector<float> fill)
      : limit_(limit), fill_(std::move(fill)) {}

  // Takes some rows of the next columns.
  void add(const ColumnTable& x, const TableRows& rows, int n_threads);
  size_t n_done() const { return found_.size(); }
  std::shared_ptr<const Bins> bins() const;

 private:
  BinLimit limit_;
  std::vector<float> fill_;
  std::vector<FeatureBins> found_;
};

// Replaces values by codes.
class Coder {
 public:
  Coder(std::shared_ptr<const Bins> bins, int64_t n_rows);

  // Takes the next columns; row i of the result is row rows[i] of them, or row i if null.
  void add(const ColumnTable& x, const int64_t* rows, int n_threads);
  int32_t n_done() const { return n_done_; }
  std::shared_ptr<BinnedMatrix> result() const { return result_; }

 private:
  std::shared_ptr<BinnedMatrix> result_;
  std::shared_ptr<uint8_t[]> codes_;
  std::vector<CutSearch> searches_;
  int32_t n_done_ = 0;
};

}  // namespace rankgrove
