// The score of every document of a tree's sample, for metrics that are not computed from blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/data/forest_targets.hpp"
#include "forests/listwise/block_table.hpp"

namespace rankgrove::forests {

class ScoreTable {
 public:
  ScoreTable(const std::vector<int64_t>& offsets, const ListwiseMetric&)
      : offsets_(offsets),
        rows_(static_cast<size_t>(offsets.back())),
        scores_(rows_.size()),
        sizes_(offsets.size() - 1, 0) {}

  static RowSpan subset(const int32_t* rows, int64_t n) { return {rows, n}; }

  // Rows of the query that are in the sample, ascending.
  RowSpan rows(int32_t query) const { return {rows_.data() + offsets_[query], sizes_[query]}; }
  double score(int32_t row) const { return scores_[row]; }

  void start_query(int32_t query, double score, const RowSpan& all) {
    sizes_[query] = all.count;
    std::copy_n(all.rows, all.count, rows_.begin() + offsets_[query]);
    set_score(all, score);
  }

  void split(int32_t, double, double left_score, const RowSpan& left, double right_score,
             const RowSpan& right) {
    set_score(left, left_score);
    set_score(right, right_score);
  }

 private:
  void set_score(const RowSpan& rows, double score) {
    for (int64_t i = 0; i < rows.count; ++i) scores_[rows.rows[i]] = score;
  }

  const std::vector<int64_t>& offsets_;
  std::vector<int32_t> rows_;
  std::vector<double> scores_;  // by row
  std::vector<int64_t> sizes_;
};

}  // namespace rankgrove::forests
