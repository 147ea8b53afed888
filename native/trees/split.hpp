// A split of a node.
#pragma once

#include <cstdint>
#include <limits>

namespace rankgrove {

// Which bin codes of a feature go left: those up to `bin`, and the code of missing values if
// `missing_left`.
struct CodeRule {
  int32_t feature = -1;
  int32_t bin = -1;
  bool missing_left = false;
};

struct Split {
  double gain = -std::numeric_limits<double>::infinity();
  CodeRule rule;
  int64_t left = 0;  // packed sums of the left child

  bool found() const { return rule.feature >= 0; }
};

}  // namespace rankgrove
