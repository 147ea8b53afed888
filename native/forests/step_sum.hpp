// A sum of step functions of a score, kept at a few scores (points), that takes a step or tells a
// value quickly.
//
// Scores are looked up by cell: the range of all scores is cut into equal cells, and the
// cell of a step is known beforehand. Steps come from leaves, which lie anywhere; points crowd
// around the score of the node that is being split. So the cell of a step seldom holds a point, and
// then tells which points lie above the step without a comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rankgrove::forests {

// Cuts the range of scores into cells. Monotone: a higher score never has a lower cell.
class ScoreCells {
 public:
  ScoreCells() = default;
  // A node of n documents has at most as many points; it gets several cells for each.
  ScoreCells(double low, double high, int64_t n) : low_(low), last_(63.0) {
    while (last_ < 16.0 * static_cast<double>(n) && last_ < 4095.0) last_ = 2 * last_ + 1;
    if (high > low) per_score_ = last_ / (high - low);
  }

  uint16_t operator()(double score) const {
    return static_cast<uint16_t>(std::clamp((score - low_) * per_score_, 0.0, last_));
  }

  static constexpr size_t kMost = 4096;

 private:
  double low_ = 0.0;
  double last_ = 0.0;
  double per_score_ = 0.0;
};

class StepSum {
 public:
  StepSum() : points_below_(ScoreCells::kMost + 1) {}

  // Starts anew, as the constant 0 over these points (1 to 65535). Cells will be asked for that
  // lie between a middle score and the lowest or highest point.
  void start(const std::vector<double>& points, double middle, const ScoreCells& cells) {
    cells_ = cells;
    points_ = points;
    std::sort(points_.begin(), points_.end());
    points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
    n_ = static_cast<int32_t>(points_.size());
    steps_.assign(static_cast<size_t>(n_) + 1, 0.0);
    coarse_.assign(n_ > kDirect ? static_cast<size_t>(n_ >> kShift) + 1 : 0, 0.0);
    everywhere_ = 0.0;
    narrow(points_.front(), points_.back());
    const int32_t middle_cell = cells_(middle);
    int32_t cell = std::min(lowest_cell_, middle_cell);
    for (int32_t i = 0; i < n_; ++i) {
      for (const int32_t own = cells_(points_[i]); cell <= own; ++cell)
        points_below_[cell] = static_cast<uint16_t>(i);
    }
    for (; cell <= std::max(highest_cell_, middle_cell) + 1; ++cell)
      points_below_[cell] = static_cast<uint16_t>(n_);
  }

  // Says that only points from `lowest` to `highest` will be asked for from now on.
  void narrow(double lowest, double highest) {
    lowest_ = lowest;
    highest_ = highest;
    lowest_cell_ = cells_(lowest);
    highest_cell_ = cells_(highest);
  }

  // Steps at scores, and in cells, outside of these make no difference.
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }
  int32_t lowest_cell() const { return lowest_cell_; }
  int32_t highest_cell() const { return highest_cell_; }

  // Whether a cell holds a point.
  bool has_point(int32_t cell) const { return points_below_[cell + 1] != points_below_[cell]; }

  // Number of points below a score in this cell, which holds no point.
  int32_t below_cell(int32_t cell) const { return points_below_[cell]; }

  // Number of points below a score.
  int32_t below(double score) const {
    if (score <= points_.front()) return 0;
    if (score > points_.back()) return n_;
    int32_t i = points_below_[cells_(score)];
    while (points_[i] < score) ++i;
    return i;
  }

  // Whether point number i exists and has this score.
  bool is_point(int32_t i, double score) const { return i < n_ && points_[i] == score; }

  // Adds a value to all points from number i on.
  void add_from(int32_t i, double value) {
    steps_[i] += value;
    if (n_ > kDirect) coarse_[i >> kShift] += value;
  }
  void add_everywhere(double value) { everywhere_ += value; }

  // Value at a point.
  double at(double point) const {
    const int32_t end = below(point) + 1;
    double sum = everywhere_;
    int32_t i = 0;
    if (n_ > kDirect) {
      for (; i < end >> kShift; ++i) sum += coarse_[i];
      i <<= kShift;
    }
    // Four running sums: the additions need not wait for each other.
    double part[4] = {0, 0, 0, 0};
    for (; i + 4 <= end; i += 4) {
      for (int32_t j = 0; j < 4; ++j) part[j] += steps_[i + j];
    }
    for (; i < end; ++i) sum += steps_[i];
    return sum + ((part[0] + part[1]) + (part[2] + part[3]));
  }

 private:
  static constexpr int32_t kDirect = 512;  // up to so many points, `at` just adds the steps
  static constexpr int kShift = 7;

  ScoreCells cells_;
  int32_t n_ = 0;
  double lowest_ = 0.0;
  double highest_ = 0.0;
  int32_t lowest_cell_ = 0;
  int32_t highest_cell_ = 0;
  double everywhere_ = 0.0;
  std::vector<double> points_;
  std::vector<double> steps_;
  std::vector<double> coarse_;
  std::vector<uint16_t> points_below_;  // number of points in lower cells
};

}  // namespace rankgrove::forests
