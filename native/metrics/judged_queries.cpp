#include "metrics/judged_queries.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace rankgrove {

namespace {

// Whole labels below this get their grade by a table.
constexpr int kSmallLabels = 256;

bool is_small_and_whole(double label) {
  return label >= 0 && label < kSmallLabels && label == static_cast<int>(label);
}

}  // namespace

void JudgedQueries::set_labels(const double* row_labels) {
  const int64_t n = n_rows();
  std::array<int64_t, kSmallLabels> seen;  // a row of each small label
  seen.fill(-1);
  labels.clear();
  bool all_small = true;
  for (int64_t row = n - 1; row >= 0; --row) {
    const double label = row_labels[row];
    if (is_small_and_whole(label)) {
      seen[static_cast<int>(label)] = row;
    } else {
      if (!std::isfinite(label)) {
        throw std::invalid_argument("label of row " + std::to_string(row) +
                                    " is not a finite number");
      }
      all_small = false;
    }
  }
  grades.resize(n);
  if (all_small) {
    std::array<uint32_t, kSmallLabels> grade_of{};
    for (int label = 0; label < kSmallLabels; ++label) {
      if (seen[label] < 0) continue;
      grade_of[label] = static_cast<uint32_t>(labels.size());
      labels.push_back(label);
      first_row.push_back(seen[label]);
    }
    for (int64_t i = 0; i < n; ++i) grades[i] = grade_of[static_cast<int>(row_labels[row(i)])];
    return;
  }
  labels.assign(row_labels, row_labels + n);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  first_row.assign(labels.size(), -1);
  for (int64_t i = n - 1; i >= 0; --i) {
    const auto found = std::lower_bound(labels.begin(), labels.end(), row_labels[row(i)]);
    grades[i] = static_cast<uint32_t>(found - labels.begin());
    first_row[grades[i]] = row(i);
  }
}

}  // namespace rankgrove
