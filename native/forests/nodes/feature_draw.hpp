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
    swapped_.resize(order_.size());
  }

  // Forgets the last node's draw.
  void start() {
    while (n_drawn_ > 0) {
      --n_drawn_;
      std::swap(order_[n_drawn_], order_[swapped_[n_drawn_]]);
    }
  }

  bool exhausted() const { return n_drawn_ == order_.size(); }

  int32_t next(Random& random) {
    const size_t i = n_drawn_++;
    const size_t j = i + random.below(order_.size() - i);
    std::swap(order_[i], order_[j]);
    swapped_[i] = j;
    return order_[i];
  }

 private:
  std::vector<int32_t> order_;
  std::vector<size_t> swapped_;  // what each draw was swapped with
  size_t n_drawn_ = 0;
};

}  // namespace rankgrove::forests
