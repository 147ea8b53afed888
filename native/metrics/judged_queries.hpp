// The judgments of a data set, in grouped order: what every metric is prepared from.
//
// Labels are few: each document holds the number of its *grade*, an index into the ascending list
// of different labels. What a metric makes of a label is then computed once per grade.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/ranking.hpp"

namespace rankgrove {

struct JudgedQueries {
  std::vector<double> labels;      // the different labels, ascending
  std::vector<int64_t> first_row;  // a row of each of them, for error messages
  std::vector<uint32_t> grades;    // by position in grouped order
  std::vector<int64_t> offsets;    // query q owns positions offsets[q] .. offsets[q + 1]
  std::vector<int64_t> order;      // row of each position; empty if rows are in grouped order
  bool partial_rankings = false;   // a document of score -inf is judged, but not in the ranking

  int64_t n_grades() const { return static_cast<int64_t>(labels.size()); }
  int64_t n_queries() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t n_rows() const { return offsets.back(); }
  int64_t begin(int64_t query) const { return offsets[query]; }
  int64_t size(int64_t query) const { return offsets[query + 1] - offsets[query]; }
  const uint32_t* grades_of(int64_t query) const { return grades.data() + offsets[query]; }
  // The caller's row at a position in grouped order.
  int64_t row(int64_t position) const { return order.empty() ? position : order[position]; }

  int64_t longest() const {
    int64_t longest = 0;
    for (int64_t q = 0; q < n_queries(); ++q) longest = std::max(longest, size(q));
    return longest;
  }

  // The value of each grade; throws std::invalid_argument with the row of a label that has none.
  std::vector<double> grade_values(const LabelValue& value_of) const {
    std::vector<double> result;
    for (int64_t grade = 0; grade < n_grades(); ++grade) {
      result.push_back(value_of(
          labels[grade], [&] { return "label of row " + std::to_string(first_row[grade]); }));
    }
    return result;
  }

  // Fills labels, first_row and grades from the labels of the rows, in the caller's order; needs
  // offsets and order. Throws std::invalid_argument if a label is not finite.
  void set_labels(const double* row_labels);
};

}  // namespace rankgrove
