// The features whose splits this worker searches: neighbouring ones, with about as many bins as
// those of every other worker. After a reduce-scatter, it has the histograms of these alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "distributed/row_share.hpp"
#include "trees/histogram_layout.hpp"

namespace rankgrove {

struct FeatureShare {
  FeatureShare(const HistogramLayout& layout, const RowShare& rows) {
    const int64_t n_bins = layout.size(), size = rows.size();
    const auto first_of = [&](int64_t rank) {
      const auto found =
          std::lower_bound(layout.start.begin(), layout.start.end(), n_bins * rank / size);
      return static_cast<int32_t>(found - layout.start.begin());
    };
    for (int64_t rank = 0; rank <= size; ++rank) bounds.push_back(layout.start[first_of(rank)]);
    begin = first_of(rows.rank());
    end = first_of(rows.rank() + 1);
  }

  bool has(int32_t feature) const { return feature >= begin && feature < end; }
  int32_t count() const { return end - begin; }

  int32_t begin, end;          // this worker's features
  std::vector<size_t> bounds;  // the first bin of each worker, and the end
};

}  // namespace rankgrove
