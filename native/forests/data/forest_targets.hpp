// What a forest learns: targets and weights of the rows, and the metric that listwise splits raise.
#pragma once

#include <cstdint>
#include <vector>

namespace rankgrove::forests {

// A metric of the form  sum over queries of scale[q] * sum over ranks r of discount(r) * gain(doc),
// with tied documents sharing their ranks evenly.
struct PositionMetric {
  std::vector<double> gain;        // of each row
  std::vector<double> cumulative;  // sum of the discounts of the first r ranks, r = 0 .. longest
  std::vector<double> scale;       // of each query: its weight / ideal DCG, 0 where that is 0
  std::vector<double> weight;      // of each query in the mean
};

struct ForestTargets {
  std::vector<double> target;       // of each row; a leaf's value is the mean of its rows' targets
  std::vector<uint8_t> label;       // class of each row; empty if targets are not classes
  std::vector<double> class_value;  // target of each class
  std::vector<double> weight;       // of each row; empty if all weigh the same
  PositionMetric metric;            // for listwise splits; empty without

  int32_t n_classes() const { return static_cast<int32_t>(class_value.size()); }
  bool has_classes() const { return !label.empty(); }
};

}  // namespace rankgrove::forests
