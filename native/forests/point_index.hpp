// A few scores (points) in ascending order, that quickly tells where another score lies among them.
//
// The range of the points is cut into equal cells, several for each point, so that a score is
// compared to few points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace rankgrove::forests {

class PointIndex {
 public:
  // At least one point, ascending and distinct.
  void build(const std::vector<double>& points) {
    points_ = points.data();
    n_ = static_cast<int32_t>(points.size());
    low_ = points.front();
    const double range = points.back() - low_;
    last_cell_ = kCellsPerPoint * static_cast<double>(n_);
    cells_per_score_ = last_cell_ / range;
    if (!std::isfinite(cells_per_score_)) cells_per_score_ = 0.0;
    below_.resize(static_cast<size_t>(last_cell_) + 1);
    int32_t cell = 0;
    for (int32_t i = 0; i < n_; ++i) {
      for (const int32_t own = cell_of(points_[i]); cell <= own; ++cell) below_[cell] = i;
    }
    std::fill(below_.begin() + cell, below_.end(), n_);
  }

  // Number of points below a score.
  int32_t below(double score) const {
    int32_t i = below_[cell_of(score)];
    while (i < n_ && points_[i] < score) ++i;
    return i;
  }

  // Whether point number i exists and has this score.
  bool is_point(int32_t i, double score) const { return i < n_ && points_[i] == score; }

 private:
  static constexpr double kCellsPerPoint = 4.0;

  // Monotone: a higher score never has a lower cell.
  int32_t cell_of(double score) const {
    return static_cast<int32_t>(std::clamp((score - low_) * cells_per_score_, 0.0, last_cell_));
  }

  const double* points_ = nullptr;
  int32_t n_ = 0;
  double low_ = 0.0;
  double last_cell_ = 0.0;
  double cells_per_score_ = 0.0;
  std::vector<int32_t> below_;  // number of points in lower cells
};

}  // namespace rankgrove::forests
