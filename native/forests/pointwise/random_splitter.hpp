// One random feature that is not constant in the node, one random threshold: RF-rand. Labels have
// no say but that a node of equal targets is not split (its children would answer the same).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/data/forest_features.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/nodes/node_codes.hpp"
#include "forests/nodes/node_splitter.hpp"
#include "forests/pointwise/random_threshold.hpp"

namespace rankgrove::forests {

template <typename Code>
class RandomSplitter final : public NodeSplitter<Code> {
 public:
  RandomSplitter(const ForestFeatures& features, const ForestOptions& options)
      : features_(features),
        options_(options),
        codes_(features),
        draw_(features.binned->n_features()) {}

  NodeSplit find(const NodeRows& documents, const WaitingNode&, Random& random) override {
    NodeSplit result;
    const int64_t n = documents.n;
    visit_drawn_features(
        draw_, 1, codes_, documents.rows, n, drawn_, random,
        [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
          NodeSplit split;
          const Code* codes = codes_.codes(slot);
          if (!draw_threshold(features_, codes, n, feature, low, high, random, split)) return true;
          if (leaves_enough(codes, n, split)) result = split;
          slot_ = slot;
          return true;
        });
    return result;
  }

  const Code* split_codes() const override { return codes_.codes(slot_); }

 private:
  // Both sides have documents in any case.
  bool leaves_enough(const Code* codes, int64_t n, const NodeSplit& split) const {
    if (options_.min_samples_leaf == 1) return true;
    const int32_t missing_bin = features_.binned->missing_bin(split.feature);
    int64_t n_left = 0;
    for (int64_t i = 0; i < n; ++i) n_left += split.goes_left(codes[i], missing_bin);
    return std::min(n_left, n - n_left) >= options_.min_samples_leaf;
  }

  const ForestFeatures& features_;
  const ForestOptions& options_;
  NodeCodes<Code> codes_;
  FeatureDraw draw_;
  std::vector<int32_t> drawn_;
  int32_t slot_ = 0;
};

}  // namespace rankgrove::forests
