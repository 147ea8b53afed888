// Which rows a tree is grown on. The draw depends on (seed, tree number) alone, so that it can be
// repeated later, for out-of-bag predictions.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/data/weighted_draw.hpp"

namespace rankgrove::forests {

enum class SampleUnit {
  queries,    // whole queries, without replacement
  documents,  // documents, with replacement (bootstrap)
};

struct ForestSample {
  SampleUnit unit = SampleUnit::queries;
  int64_t size = 0;  // queries or documents to draw
  // Chance to be drawn; empty if all equal.
  std::vector<double> query_weights;
  WeightedDraw document_weights;
};

// The random stream of a tree.
uint64_t tree_seed(uint64_t seed, uint64_t tree_number);

// Rows of a tree's sample in ascending order.
struct SampledRows {
  std::vector<int32_t> rows;
  std::vector<uint32_t>
      times;  // how often each row of the data was drawn; empty if it is listed so
};

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
