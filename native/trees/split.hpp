// A split of a node.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "trees/packed_gradients.hpp"

namespace rankgrove {

// Which bin codes of a feature go left: those up to `bin`, or those of a set of categories, and the
// code of missing values if `missing_left`.
struct CodeRule {
  int32_t feature = -1;
  int32_t bin = -1;
  bool missing_left = false;
  std::shared_ptr<const std::vector<uint32_t>> categories = nullptr;  // null: `bin` decides
};

struct Split {
  double gain = -std::numeric_limits<double>::infinity();
  CodeRule rule;
  GradientSums left;  // of the left child
  // By which splits of a feature are compared where scores have noise.
  double preference = -std::numeric_limits<double>::infinity();
  // Whether missing values are a third child, and the sums of the other two together.
  bool branch = false;
  GradientSums values;

  bool found() const { return rule.feature >= 0; }
};

}  // namespace rankgrove
