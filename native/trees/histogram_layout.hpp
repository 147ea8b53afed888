// The position of each feature's bins in a histogram.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trees/binned_matrix.hpp"

namespace rankgrove {

struct HistogramLayout {
  explicit HistogramLayout(const Bins& bins);

  std::vector<int32_t> start;    // first bin of each feature, n_features + 1
  std::vector<int32_t> n_bins;   // value bins; the missing bin, if any, comes next
  std::vector<uint8_t> missing;  // whether the feature has a missing bin
  int32_t size() const { return start.back(); }
  int32_t n_features() const { return static_cast<int32_t>(n_bins.size()); }
  double mean_bins() const { return static_cast<double>(size()) / std::max(1, n_features()); }
};

}  // namespace rankgrove
