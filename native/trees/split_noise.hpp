// Random strength: noise on the scores of candidate splits.
//
// The root of a split's score, sqrt(G_l^2 / H_l + G_r^2 / H_r), is a length in units of
// sqrt(sum of g^2 / sum of h): what gradients without any pattern give by chance. A normal number
// of that unit times `strength` is added to it before splits are compared: first those of one
// feature, then, with new numbers, the best ones of the features. (Without the second draw, a
// feature of many thresholds would win by the largest of its many numbers.) Numbers follow from the
// tree's seed, the node, the feature and the threshold.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/random.hpp"

namespace rankgrove {

struct SplitNoise {
  double scale = 0.0;   // standard deviation; 0: none
  uint64_t stream = 0;  // of the node

  explicit operator bool() const { return scale > 0.0; }

  SplitNoise of_node(uint64_t node) const { return {scale, mix64(stream ^ mix64(~node))}; }

  // The root of a score with its noise. `candidate` numbers the splits of a feature; -1 is the draw
  // that compares features.
  double preference(double score, int32_t feature, int64_t candidate) const {
    Random random(stream ^ mix64(static_cast<uint64_t>(feature)), static_cast<uint64_t>(candidate));
    return std::sqrt(score > 0.0 ? score : 0.0) + scale * random.normal();
  }
};

}  // namespace rankgrove
