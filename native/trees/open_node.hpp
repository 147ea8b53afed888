// What growth node by node knows of a leaf.
#pragma once

#include <cstdint>

#include "trees/tree_grower.hpp"

namespace rankgrove {

// A leaf that may still be split.
struct TreeGrower::OpenNode {
  int32_t node;
  int32_t depth;
  int64_t begin, end;  // of this worker's rows
  int64_t n_rows;      // of all workers
  NodeSums sums;
  int64_t* histogram;
  Split split;
  bool rows_counted = false;  // the split's children are known to have enough rows
};

}  // namespace rankgrove
