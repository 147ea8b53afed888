// The part of a forest's data that does not depend on labels and weights: codes of features, and
// queries. It is built once and used with any targets and weights.
//
// Rows are in grouped order: query q owns rows offsets[q] .. offsets[q + 1] - 1.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/large_pages.hpp"
#include "forests/data/bin_values.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

struct ForestFeatures {
  std::shared_ptr<const BinnedMatrix> binned;
  std::vector<int64_t> offsets;       // of queries
  std::vector<int32_t> query_of_row;  // follows from the offsets
  BinValues bin_values;

  std::vector<int32_t> usual;  // byte that many rows have, by feature; -1: there is none

  // The same codes row by row: a deep node reads a few features of few, scattered rows.
  bool row_by_row = true;  // else the matrix has sparse columns, which are read as they are
  LargeVector<uint8_t> rows8;
  LargeVector<uint16_t> rows16;

  int64_t n_rows() const { return binned->n_rows; }
  int32_t n_queries() const { return static_cast<int32_t>(offsets.size()) - 1; }

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

ForestFeatures make_forest_features(std::shared_ptr<const BinnedMatrix> binned,
                                    std::vector<int64_t> offsets, const float* feature_min,
                                    const float* feature_max, int n_threads);

}  // namespace rankgrove::forests
