// Codes of a few features for the rows of one node, gathered side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/feature_draw.hpp"
#include "forests/forest_data.hpp"

namespace rankgrove::forests {

template <typename Code>
class NodeCodes {
 public:
  explicit NodeCodes(const ForestData& data) : data_(data), binned_(*data.binned) {}

  // Codes of `features` for n rows: codes(slot)[i], i = 0 .. n - 1.
  void gather(const int32_t* features, int32_t n_features, const int32_t* rows, int64_t n) {
    n_ = n;
    const auto size = static_cast<size_t>(n_features * n);
    if (codes_.size() < size) codes_.resize(size);
    // A large node has several rows in every cache line of a column; a small one has not, and finds
    // its features closer together in a row.
    if (n * 16 >= binned_.n_rows) {
      for (int32_t slot = 0; slot < n_features; ++slot) {
        const Code* column = binned_.column<Code>(features[slot]);
        Code* out = codes_.data() + slot * n;
        for (int64_t i = 0; i < n; ++i) out[i] = column[rows[i]];
      }
      return;
    }
    if (n_features == 1) {
      const Code* column = data_.row_codes<Code>() + features[0];
      const int64_t step = binned_.n_features();
      for (int64_t i = 0; i < n; ++i) codes_[i] = column[rows[i] * step];
      return;
    }
    constexpr int64_t kAhead = 8;
    const Code* all = data_.row_codes<Code>();
    const int64_t stride = binned_.n_features();
    for (int64_t i = 0; i < n; ++i) {
      if (i + kAhead < n) {
        const Code* next = all + rows[i + kAhead] * stride;
        for (int64_t f = 0; f < stride; f += 64 / sizeof(Code)) __builtin_prefetch(next + f);
      }
      const Code* row = all + rows[i] * stride;
      for (int32_t slot = 0; slot < n_features; ++slot) codes_[slot * n + i] = row[features[slot]];
    }
  }

  const Code* codes(int32_t slot) const { return codes_.data() + slot * n_; }

  // Smallest and largest code of a slot.
  std::pair<Code, Code> range(int32_t slot) const {
    const Code* code = codes(slot);
    Code low = code[0];
    Code high = code[0];
    for (int64_t i = 1; i < n_; ++i) {
      low = std::min(low, code[i]);
      high = std::max(high, code[i]);
    }
    return {low, high};
  }

 private:
  const ForestData& data_;
  const BinnedMatrix& binned_;
  int64_t n_ = 0;
  std::vector<Code> codes_;
};

// Draws K features for a node, and more, one at a time, as long as all drawn ones are constant
// there; calls visit(slot, feature, lowest code, highest code) for those that are not constant.
template <typename Code, typename Visit>
void visit_drawn_features(FeatureDraw& draw, int32_t max_features, NodeCodes<Code>& codes,
                          const int32_t* rows, int64_t n, std::vector<int32_t>& features,
                          Random& random, Visit&& visit) {
  draw.start();
  features.clear();
  while (static_cast<int32_t>(features.size()) < max_features && !draw.exhausted()) {
    features.push_back(draw.next(random));
  }
  bool splittable = false;
  while (!features.empty()) {
    codes.gather(features.data(), static_cast<int32_t>(features.size()), rows, n);
    for (size_t slot = 0; slot < features.size(); ++slot) {
      const auto [low, high] = codes.range(static_cast<int32_t>(slot));
      if (low == high) continue;
      splittable = true;
      visit(static_cast<int32_t>(slot), features[slot], static_cast<int32_t>(low),
            static_cast<int32_t>(high));
    }
    if (splittable || draw.exhausted()) return;
    features.assign(1, draw.next(random));
  }
}

}  // namespace rankgrove::forests
