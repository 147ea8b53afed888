// Which rows a tree is grown on. The draw depends on (seed, tree number) alone, so that it can be
// repeated later, for out-of-bag predictions.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/data/weighted_draw.hpp"

namespace rankgrove::forests {

enum class SampleUnit {
  kQueries,  // whole queries
  kDocuments,
};

// Which of the units that samples are drawn from are the rows' own: others are on other workers.
struct UnitShare {
  int64_t first = 0;
  int64_t n_all = -1;  // of all workers; -1: there are no others

  bool alone() const { return n_all < 0; }
};

struct ForestSample {
  SampleUnit unit = SampleUnit::kQueries;
  bool replacement = false;  // whether a unit may be drawn several times
  int64_t size = 0;          // queries or documents to draw
  // Chance to be drawn; empty if all equal. The first is for draws without replacement, the other
  // for those with it.
  std::vector<double> weights;
  WeightedDraw weighted_draw;
  // `size` counts the units of all workers, and so do `weights`; `weighted_draw` has the own ones.
  UnitShare share;
};

// The random stream of a tree.
uint64_t tree_seed(uint64_t seed, uint64_t tree_number);

// Rows of a tree's sample in ascending order.
struct SampledRows {
  std::vector<int32_t> rows;
  std::vector<uint32_t>
      times;  // how often each row of the data was drawn; empty if it is listed so
};

// How often each query is drawn.
std::vector<uint32_t> draw_query_times(const ForestSample& options, int64_t n_queries,
                                       uint64_t tree_seed);

// Drawn twice, listed twice.
std::vector<int32_t> draw_rows(const ForestSample& options, const std::vector<int64_t>& offsets,
                               uint64_t tree_seed);

// The same sample, each row listed once.
SampledRows draw_distinct_rows(const ForestSample& options, const std::vector<int64_t>& offsets,
                               uint64_t tree_seed);

// The same sample: whether each row of the data is in it.
std::vector<uint8_t> draw_bag(const ForestSample& options, const std::vector<int64_t>& offsets,
                              uint64_t tree_seed);

}  // namespace rankgrove::forests
