// State shared by the parts of tree growing: the matrix, the options, and rows, gradients and
// features of the current tree.
//
// TreeGrower sets it at the beginning of each tree. Growth reorders the partition; everything else
// stays as it is until the tree is finished.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "distributed/row_share.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/feature_sample.hpp"
#include "trees/feature_share.hpp"
#include "trees/grow_options.hpp"
#include "trees/histogram_layout.hpp"
#include "trees/interactions.hpp"
#include "trees/packed_gradients.hpp"
#include "trees/row_partition.hpp"
#include "trees/split_noise.hpp"

namespace rankgrove {

struct GrowthState {
  GrowthState(std::shared_ptr<const BinnedMatrix> matrix, GrowOptions grow_options,
              RowShare row_share, int threads)
      : binned(std::move(matrix)),
        options(std::move(grow_options)),
        share(std::move(row_share)),
        n_threads(threads),
        wide(share.n_rows >= kWideRows),
        layout(*binned->bins),
        searched(layout, share),
        partition(*binned),
        features(layout.n_features(), options.max_features_tree, options.max_features_node),
        interactions(options.interactions) {}
  GrowthState(const GrowthState&) = delete;
  GrowthState& operator=(const GrowthState&) = delete;

  // The value that the values of a rule's left bins do not exceed; +inf for the last bin, which
  // separates all values, also those beyond what was seen in training, from missing ones.
  float threshold(const CodeRule& rule) const {
    if (rule.categories) return 0.0f;  // its set decides
    return rule.bin + 1 < layout.n_bins[rule.feature] ? binned->bins->cut(rule.feature, rule.bin)
                                                      : std::numeric_limits<float>::infinity();
  }

  // The features that may split a node (a level, if oblivious), ascending.
  std::vector<int32_t> features_of(int32_t node) const {
    if (interactions.empty()) return features.of_node(node);
    return features.of_node(node, [&](int32_t f) { return interactions.allows(node, f); });
  }

  const std::shared_ptr<const BinnedMatrix> binned;
  const GrowOptions options;
  const RowShare share;  // which rows of all workers the matrix holds
  const int n_threads;
  const bool wide;  // the sums of all rows do not fit into words
  const HistogramLayout layout;
  const FeatureShare searched;  // the features whose splits this worker searches

  RowPartition partition;
  PackedGradients packed;
  bool samples_all_rows = true;
  FeatureSample features;
  InteractionConstraints interactions;
  SplitNoise noise;
};

}  // namespace rankgrove
