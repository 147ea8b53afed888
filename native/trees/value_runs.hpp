// Runs of equal values of a column, by which workers find bins together.
//
// A worker sorts its column and has a run for each different value: its key (feature_bins.hpp) and
// the number of rows. The worker that owns the column gets the runs of all workers range by range,
// and finds the bins that one worker with all rows would find, while it holds one range.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/column_table.hpp"
#include "trees/feature_bins.hpp"

namespace rankgrove {

struct ValueRuns {
  std::vector<uint32_t> keys;  // ascending
  std::vector<uint32_t> counts;
  int64_t n_missing = 0;
};

// The runs of each column; `fill` has the values that stand in for NaN.
std::vector<ValueRuns> value_runs(const ColumnTable& columns, int64_t n_rows,
                                  std::span<const float> fill, int n_threads);

// Finds the bins of one column from runs in ascending ranges.
class RunBins {
 public:
  // `frequent` are at least the values that a fair share of the rows has, and an infinity if there
  // is one; n_rows have a value.
  RunBins(const BinLimit& limit, const DistinctValues& frequent, int64_t n_rows)
      : limit_(limit), quantiles_(limit.max_bins, frequent, n_rows) {}

  // Takes the runs of a range in any order, equal keys among them. All keys are greater than those
  // of earlier ranges.
  void add(std::span<const uint32_t> keys, std::span<const int64_t> counts);

  // The cuts, after all ranges.
  std::vector<float> cuts() const;
  bool has_infinity() const;

 private:
  void take(float value, int64_t count);

  BinLimit limit_;
  QuantileCuts quantiles_;
  DistinctValues first_;  // as many as may have a bin each; all values if the rule needs them
  bool many_ = false;     // there are more
  float last_ = 0.0f;
};

}  // namespace rankgrove
