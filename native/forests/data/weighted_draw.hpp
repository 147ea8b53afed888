// Draws numbers in proportion to weights, with replacement, in constant time on average.
//
// A number u in [0, 1) is turned into the first i whose cumulated weight exceeds u times the whole.
// A guide says for equal parts of [0, 1) where the search for i begins, so it takes a step or two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace rankgrove::forests {

class WeightedDraw {
 public:
  WeightedDraw() = default;

  // Weights of some units of all, which follow units of the weight `before`; for draws by
  // `own_place`.
  WeightedDraw(std::vector<double> weights, double before, double all, bool has_last)
      : before_(before), all_(all), has_last_(has_last), cumulative_(std::move(weights)) {
    last_ = static_cast<int32_t>(cumulative_.size()) - 1;
    while (last_ > 0 && cumulative_[last_] <= 0) --last_;
    double sum = before;
    for (double& weight : cumulative_) weight = sum += weight;
  }

  // Weights of at least 0, not all of them 0.
  explicit WeightedDraw(std::vector<double> weights) : cumulative_(std::move(weights)) {
    last_ = static_cast<int32_t>(cumulative_.size()) - 1;
    while (last_ > 0 && cumulative_[last_] <= 0) --last_;
    std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
    guide_.resize(std::bit_ceil(cumulative_.size()));  // a power of two: u times it is exact
    int32_t i = 0;
    for (size_t part = 0; part < guide_.size(); ++part) {
      const double point = static_cast<double>(part) / parts() * cumulative_.back();
      while (i < last_ && cumulative_[i] <= point) ++i;
      guide_[part] = i;
    }
  }

  bool empty() const { return cumulative_.empty(); }
  size_t size() const { return cumulative_.size(); }

  // The number of the unit that u draws among the own ones, or -1 if it is another's.
  int32_t own_place(double u) const {
    const double point = u * all_;
    if (cumulative_.empty() || point < before_) return -1;
    if (!(point < cumulative_.back())) return has_last_ ? last_ : -1;
    const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end(), point);
    return static_cast<int32_t>(above - cumulative_.begin());
  }

  int32_t operator()(double u) const {
    const double point = u * cumulative_.back();
    int32_t i = guide_[static_cast<size_t>(u * parts())];
    for (int step = 0; step < 2; ++step) i += (i < last_) & (cumulative_[i] <= point);  // no jump
    while (i < last_ && cumulative_[i] <= point) ++i;
    return i;
  }

 private:
  double parts() const { return static_cast<double>(guide_.size()); }

  double before_ = 0, all_ = 0;
  bool has_last_ = true;
  std::vector<double> cumulative_;
  std::vector<int32_t> guide_;
  int32_t last_ = 0;  // of those that can be drawn, whatever is rounded
};

}  // namespace rankgrove::forests
