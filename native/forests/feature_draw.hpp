// Draws features without replacement, one by one. The draw depends on the random stream alone, not
// on what was drawn for other nodes before.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/random.hpp"

namespace rankgrove::forests {

class FeatureDraw {
 public:
  explicit FeatureDraw(int32_t n_features) : order_(static_cast<size_t>(n_features)) {
    std::iota(order_.begin(), order_.end(), 0);
    swapped_.reserve(order_.size());
  }

  // Forgets the last node's draw.
  void start() {
    for (size_t i = swapped_.size(); i-- > 0;) std::swap(order_[i], order_[swapped_[i]]);
    swapped_.clear();
  }

  bool exhausted() const { return swapped_.size() == order_.size(); }

  int32_t next(Random& random) {
    const size_t i = swapped_.size();
    const size_t j = i + random.below(order_.size() - i);
    std::swap(order_[i], order_[j]);
    swapped_.push_back(j);
    return order_[i];
  }

 private:
  std::vector<int32_t> order_;
  std::vector<size_t> swapped_;
};

}  // namespace rankgrove::forests
