// What a forest is grown on: codes, targets and queries, shared by all trees and read only.
//
// Rows are in grouped order: query q owns rows offsets[q] .. offsets[q + 1] - 1.
#pragma once

#include <cstdint>
#include <vector>

#include "common/large_pages.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

// A metric of the form  sum over queries of scale[q] * sum over ranks r of discount(r) * gain(doc),
// with tied documents sharing their ranks evenly.
struct PositionMetric {
  std::vector<double> gain;        // of each row
  std::vector<double> cumulative;  // sum of the discounts of the first r ranks, r = 0 .. longest
  std::vector<double> scale;       // of each query: its weight / ideal DCG, 0 where that is 0
  std::vector<double> weight;      // of each query in the mean
};

struct ForestData {
  const BinnedMatrix* binned = nullptr;
  std::vector<double> target;       // of each row; a leaf's value is the mean of its rows' targets
  std::vector<uint8_t> label;       // class of each row; empty if targets are not classes
  std::vector<double> class_value;  // target of each class
  std::vector<double> weight;       // of each row; empty if all weigh the same
  std::vector<int64_t> offsets;     // of queries
  std::vector<int32_t> query_of_row;  // follows from the offsets
  std::vector<float> bin_values;  // a value inside each bin; bin b of feature f: value_offset(f)+b
  PositionMetric metric;          // for listwise splits; empty without

  // The same codes row by row: a deep node reads a few features of few, scattered rows.
  LargeVector<uint8_t> rows8;
  LargeVector<uint16_t> rows16;

  int64_t n_rows() const { return binned->n_rows; }
  int32_t n_queries() const { return static_cast<int32_t>(offsets.size()) - 1; }
  int32_t n_classes() const { return static_cast<int32_t>(class_value.size()); }
  bool has_classes() const { return !label.empty(); }

  // Every feature has one bin more than cuts.
  const float* values_of(int32_t f) const {
    return bin_values.data() + binned->bins->offsets[f] + f;
  }

  template <typename Code>
  const Code* row_codes() const {
    if constexpr (sizeof(Code) == 1) {
      return rows8.data();
    } else {
      return rows16.data();
    }
  }
};

// The query of each row.
std::vector<int32_t> queries_of_rows(const std::vector<int64_t>& offsets);

// Fills what follows from the rest: codes row by row, the query of each row, and a value inside
// each bin, estimated from the cuts around it and the feature's extreme values.
void prepare_forest_data(ForestData& data, const float* feature_min, const float* feature_max,
                         int n_threads);

}  // namespace rankgrove::forests
