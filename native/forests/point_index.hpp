// The scores (points) that a node's children may have, in ascending order; quickly tells where
// another score lies among them.
//
// The scores on either side of the node's own are cut into cells, whose width grows with the
// distance from it: points crowd around the node's score, since most children are large. So a cell
// seldom holds more than one point.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace rankgrove::forests {

class PointIndex {
 public:
  // Points in ascending order and distinct, some above the middle and some below.
  void build(const std::vector<double>& points, double middle) {
    points_ = points;
    points_.push_back(std::numeric_limits<double>::infinity());
    middle_ = middle;
    n_ = static_cast<int32_t>(points.size());
    first_above_ = static_cast<int32_t>(std::upper_bound(points.begin(), points.end(), middle) -
                                        points.begin());
    above_.start(points[first_above_] - middle, points.back() - middle);
    for (int32_t i = first_above_; i < n_; ++i) above_.fill(points[i] - middle, i, true);
    below_.start(middle - points[first_above_ - 1], middle - points.front());
    for (int32_t i = first_above_; i-- > 0;) below_.fill(middle - points[i], i + 1, false);
  }

  int32_t size() const { return n_; }
  // The first point above the middle.
  int32_t first_above() const { return first_above_; }

  // Number of points below a score that is above (below) the middle.
  int32_t below_upper(double score) const { return from(above_.n_points(score - middle_), score); }
  int32_t below_lower(double score) const { return from(below_.n_points(middle_ - score), score); }

  // Whether point number i exists and has this score.
  bool is_point(int32_t i, double score) const { return points_[i] == score; }

 private:
  // Cells of distances from the middle, with the number of points in lower cells of scores.
  class Side {
   public:
    void start(double nearest, double farthest) {
      first_ = cell(nearest);
      last_ = cell(farthest);
      below_.assign(static_cast<size_t>(last_ - first_) + 1, 0);
      next_ = first_;
    }
    // The next point outwards has a distance, and n points are in cells below it (or not above it).
    void fill(double distance, int32_t n, bool own_too) {
      const int32_t end = cell(distance) + own_too;
      for (; next_ < end; ++next_) below_[next_ - first_] = n;
    }
    int32_t n_points(double distance) const {
      return below_[std::clamp(cell(distance), first_, last_) - first_];
    }

   private:
    // Monotone, and proportional to the logarithm of a distance, roughly.
    static int32_t cell(double distance) {
      constexpr int kCellsPerOctave = 5;  // as a power of 2
      return std::bit_cast<int32_t>(static_cast<float>(distance)) >> (23 - kCellsPerOctave);
    }

    int32_t first_ = 0;
    int32_t last_ = 0;
    int32_t next_ = 0;
    std::vector<int32_t> below_;
  };

  int32_t from(int32_t point, double score) const {
    while (points_[point] < score) ++point;
    return point;
  }

  std::vector<double> points_;  // and an infinite one behind them
  double middle_ = 0.0;
  int32_t n_ = 0;
  int32_t first_above_ = 0;
  Side above_, below_;
};

}  // namespace rankgrove::forests
