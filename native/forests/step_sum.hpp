// A sum of step functions over a few sorted points, that takes a step or tells a value quickly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rankgrove::forests {

class StepSum {
 public:
  // Starts anew, as the constant 0 over these points.
  void start(const std::vector<double>& points) {
    points_ = points;
    std::sort(points_.begin(), points_.end());
    points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
    const size_t n = points_.size();
    shift_ = 4;
    while ((size_t{1} << (2 * shift_)) < n) ++shift_;
    steps_.assign(n + 1, 0.0);
    coarse_.assign((n >> shift_) + 1, 0.0);
    everywhere_ = 0.0;
  }

  double lowest() const { return points_.front(); }
  double highest() const { return points_.back(); }

  // Number of points below x.
  int32_t below(double x) const {
    const double* base = points_.data();
    size_t n = points_.size();
    while (n > 1) {
      const size_t half = n / 2;
      base = base[half - 1] < x ? base + half : base;
      n -= half;
    }
    return static_cast<int32_t>(base - points_.data()) + (*base < x);
  }

  // Whether point number i exists and is x.
  bool is_point(int32_t i, double x) const {
    return i < static_cast<int32_t>(points_.size()) && points_[i] == x;
  }

  // Adds a value to all points from number i on.
  void add_from(int32_t i, double value) {
    steps_[i] += value;
    coarse_[i >> shift_] += value;
  }
  void add_everywhere(double value) { everywhere_ += value; }

  // Value at a point.
  double at(double point) const {
    const int32_t i = below(point);
    double sum = everywhere_;
    const int32_t n_coarse = i >> shift_;
    for (int32_t c = 0; c < n_coarse; ++c) sum += coarse_[c];
    for (int32_t j = n_coarse << shift_; j <= i; ++j) sum += steps_[j];
    return sum;
  }

 private:
  int shift_ = 4;
  double everywhere_ = 0.0;
  std::vector<double> points_;
  std::vector<double> steps_;
  std::vector<double> coarse_;
};

}  // namespace rankgrove::forests
