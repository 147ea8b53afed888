// One random feature that is not constant in the node, one random threshold: RF-rand. Labels have
// no say but that a node of equal targets is not split (its children would answer the same).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/forest_data.hpp"
#include "forests/node_codes.hpp"
#include "forests/options.hpp"
#include "forests/random_threshold.hpp"
#include "forests/split.hpp"

namespace rankgrove::forests {

template <typename Code>
class RandomSplitter final : public NodeSplitter<Code> {
 public:
  RandomSplitter(const ForestData& data, const GrowOptions& options)
      : data_(data), options_(options), codes_(data), draw_(data.binned->n_features()) {}

  Split find(const NodeRows& documents, const WaitingNode&, Random& random) override {
    Split result;
    const int64_t n = documents.n;
    visit_drawn_features(draw_, 1, codes_, documents.rows, n, features_, random,
                         [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
                           Split split;
                           const Code* codes = codes_.codes(slot);
                           if (!draw_threshold(data_, codes, n, feature, low, high, random, split))
                             return true;
                           if (leaves_enough(codes, n, split)) result = split;
                           slot_ = slot;
                           return true;
                         });
    return result;
  }

  const Code* split_codes() const override { return codes_.codes(slot_); }

 private:
  // Both sides have documents in any case.
  bool leaves_enough(const Code* codes, int64_t n, const Split& split) const {
    if (options_.min_samples_leaf == 1) return true;
    const int32_t missing_bin = data_.binned->missing_bin(split.feature);
    int64_t n_left = 0;
    for (int64_t i = 0; i < n; ++i) n_left += split.goes_left(codes[i], missing_bin);
    return std::min(n_left, n - n_left) >= options_.min_samples_leaf;
  }

  const ForestData& data_;
  const GrowOptions& options_;
  NodeCodes<Code> codes_;
  FeatureDraw draw_;
  std::vector<int32_t> features_;
  int32_t slot_ = 0;
};

}  // namespace rankgrove::forests
