// The judgments of a data set, in grouped order: what every metric is prepared from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace rankgrove {

struct JudgedQueries {
  std::vector<double> labels;    // in grouped order
  std::vector<int64_t> offsets;  // query q owns positions offsets[q] .. offsets[q + 1]
  std::vector<int64_t> order;    // row of each position; empty if rows are in grouped order

  int64_t n_queries() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t n_rows() const { return offsets.back(); }
  int64_t begin(int64_t query) const { return offsets[query]; }
  int64_t size(int64_t query) const { return offsets[query + 1] - offsets[query]; }
  // The caller's row at a position in grouped order.
  int64_t row(int64_t position) const { return order.empty() ? position : order[position]; }

  int64_t longest() const {
    int64_t longest = 0;
    for (int64_t q = 0; q < n_queries(); ++q) longest = std::max(longest, size(q));
    return longest;
  }
};

}  // namespace rankgrove
