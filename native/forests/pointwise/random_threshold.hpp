// A threshold drawn uniformly between the smallest and the largest value of a feature in a node, or
// between the ranks of its categories.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/random.hpp"
#include "forests/data/forest_features.hpp"
#include "forests/nodes/document_bits.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

// Fills feature, bin and missing side of `split`; false if the feature cannot be split. Missing
// values are a child of their own, if `branch` allows it, or go to a random side; where all other
// documents share one value, they part from it. largest_value() is the largest code in the node
// that is no missing one.
template <typename LargestValue>
bool draw_threshold(const ForestFeatures& features, int32_t feature, int32_t low, int32_t high,
                    bool branch, Random& random, LargestValue&& largest_value, NodeSplit& split) {
  const int32_t n_bins = features.binned->n_bins(feature);
  split.feature = feature;
  split.missing_left = false;
  if (high == n_bins) {
    const int32_t largest = largest_value();
    const Bins& bins = *features.binned->bins;
    branch = branch && !bins.has_infinity[feature] && !bins.is_categorical(feature);
    if (largest == low) {
      split.bin = branch ? n_bins - 1 : low;
      return low + 1 < n_bins || !features.binned->bins->has_infinity[feature];
    }
    split.branch = branch;
    if (!split.branch) split.missing_left = random.below(2) == 1;
    high = largest;
  }
  if (features.binned->bins->is_categorical(feature)) {
    split.bin = low + static_cast<int32_t>(random.below(high - low));
    return true;
  }
  const float* values = features.bin_values.of(feature);
  const double from = values[low];
  const double point = from + random.uniform() * (static_cast<double>(values[high]) - from);
  split.bin = features.bin_values.last_at_most(feature, low, high, point);
  return true;
}

// The same, given the codes of the node's documents.
template <typename Code>
bool draw_threshold(const ForestFeatures& features, const Code* codes, int64_t n, int32_t feature,
                    int32_t low, int32_t high, bool branch, Random& random, NodeSplit& split) {
  const auto largest_value = [&] {
    int32_t largest = low;
    for (int64_t i = 0; i < n; ++i) {
      if (codes[i] < features.binned->n_bins(feature)) {
        largest = std::max<int32_t>(largest, codes[i]);
      }
    }
    return largest;
  };
  return draw_threshold(features, feature, low, high, branch, random, largest_value, split);
}

// The same for documents that are bits of a word.
inline bool draw_threshold(const ForestFeatures& features, const DocumentBits& documents,
                           int32_t feature, int32_t low, int32_t high, Random& random,
                           NodeSplit& split) {
  const auto largest_value = [&] { return documents.largest_value(feature); };
  return draw_threshold(features, feature, low, high, false, random, largest_value, split);
}

}  // namespace rankgrove::forests
