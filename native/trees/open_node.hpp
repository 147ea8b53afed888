// A leaf that may still be split, in growth node by node.
#pragma once

#include <cstdint>

#include "trees/split.hpp"
#include "trees/split_search.hpp"

namespace rankgrove {

// It may be split if it has a histogram or is searched by its rows.
struct OpenNode {
  int32_t node;
  int32_t depth;
  int64_t begin, end;  // of this worker's rows in the partition
  int64_t n_rows;      // of all workers
  NodeSums sums;
  int64_t* histogram = nullptr;  // of all workers' rows; null if there is none, or it is not kept
  bool by_rows = false;          // it is searched without a histogram
  Split split;
  bool rows_counted = false;  // the split's children are known to have enough rows
  bool decided = false;       // the split is known: nothing is searched
};

}  // namespace rankgrove
