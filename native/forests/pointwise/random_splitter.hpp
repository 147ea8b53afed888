// RF-rand: a random threshold of one random feature that is not constant in the node. Labels matter
// only in that nodes of equal targets are not split.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
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
        ranks_(features, nullptr),
        draw_(features.binned->n_features()) {}

  NodeSplit find(const NodeRows& documents, const WaitingNode&, Random& random) override {
    NodeSplit result;
    const int64_t n = documents.n;
    visit_drawn_features(draw_, 1, options_.redraw, codes_, ranks_, documents, drawn_, random,
                         [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
                           NodeSplit split;
                           const Code* codes = codes_.codes(slot);
                           if (!draw_threshold(features_, codes, n, feature, low, high,
                                               options_.missing_branch, random, split)) {
                             return true;
                           }
                           if (leaves_enough(codes, n, split)) result = split;
                           slot_ = slot;
                           return true;
                         });
    return result;
  }

  bool reads_bits() const override { return !options_.missing_branch; }
  NodeSplit find(const DocumentBits& documents, const uint32_t*, Random& random) override {
    NodeSplit result;
    visit_drawn_features(
        draw_, 1, options_.redraw, documents, drawn_, random,
        [&](int32_t feature, int32_t low, int32_t high) {
          NodeSplit split;
          if (!draw_threshold(features_, documents, feature, low, high, random, split)) return true;
          if (leaves_enough(documents, split)) result = split;
          return true;
        });
    return result;
  }

  const Code* split_codes() const override { return codes_.codes(slot_); }
  std::span<const int32_t> split_categories() const override { return ranks_.categories(slot_); }

 private:
  // All sides have documents in any case.
  bool leaves_enough(const Code* codes, int64_t n, const NodeSplit& split) const {
    if (options_.min_samples_leaf == 1) return true;
    const int32_t missing_bin = features_.binned->missing_bin(split.feature);
    int64_t n_left = 0;
    int64_t n_missing = 0;
    for (int64_t i = 0; i < n; ++i) {
      n_left += split.goes_left(codes[i], missing_bin);
      n_missing += split.branch && codes[i] == missing_bin;
    }
    if (split.branch && n_missing < options_.min_samples_leaf) return false;
    return std::min(n_left, n - n_left - n_missing) >= options_.min_samples_leaf;
  }

  bool leaves_enough(const DocumentBits& documents, const NodeSplit& split) const {
    if (options_.min_samples_leaf == 1) return true;
    DocumentBits::Counts counts{};
    documents.count_left(split, counts);
    const int64_t n_left = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    return std::min(n_left, documents.n_members() - n_left) >= options_.min_samples_leaf;
  }

  const ForestFeatures& features_;
  const ForestOptions& options_;
  NodeCodes<Code> codes_;
  CategoryRanks<Code> ranks_;
  FeatureDraw draw_;
  std::vector<int32_t> drawn_;
  int32_t slot_ = 0;
};

}  // namespace rankgrove::forests
