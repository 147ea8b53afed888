// A node of a tree of which every worker has some rows, and this worker's part of its histograms.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/criteria/packed_sums.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/sharded/histogram_layout.hpp"
#include "forests/sharded/node_sums.hpp"

namespace rankgrove::forests {

struct OpenNode {
  int32_t place = 0;  // in the table of the tree
  int32_t depth = 0;
  uint64_t key = 0;            // of its random stream
  int64_t begin = 0, end = 0;  // rows of this worker
  NodeSummary all;             // of all workers
  int32_t n_constant = 0;      // number of the features drawn first that have one code in the node
  int32_t n_drawn = 0;         // features that were drawn

  int32_t n_searched() const { return n_drawn - n_constant; }
};

// Whether the sums of a node's targets are counted in steps of its own (see PackedReals).
inline bool has_own_steps(const ForestTargets& targets, const NodeSummary& node) {
  return targets.weight.empty() && !targets.has_classes() &&
         node.n_documents <= PackedReals::kMostDocuments;
}

// The first n features that a node draws.
std::vector<int32_t> drawn_features(const ForestFeatures& features, uint64_t key, int32_t n);

// How many features a node draws before it asks whether any has several codes there.
int32_t features_at_once(const ForestFeatures& features, const ForestOptions& options);

// Cells of the features at hand, one after the other, and the squares.
int64_t histogram_size(const ForestFeatures& features, const HistogramLayout& layout,
                       const OpenNode& node, const std::vector<int32_t>& drawn);

// Adds the rows of this worker to the cells of a feature.
void add_histogram(const ForestData& data, const HistogramLayout& layout, const ShardRows& rows,
                   const OpenNode& node, int32_t feature, int64_t* cells);

// Adds the squared targets of this worker's rows.
void add_squares(const ForestData& data, const ShardRows& rows, const OpenNode& node,
                 int64_t* squares);

// The sum of the squared targets of a node.
double squares_of(const ForestTargets& targets, const OpenNode& node, const int64_t* squares);

// Calls visit(code, i) for rows begin .. end - 1 of the node.
template <typename Visit>
void visit_codes(const ForestFeatures& features, const ShardRows& rows, const OpenNode& node,
                 int32_t feature, Visit&& visit) {
  const BinnedMatrix& binned = *features.binned;
  const auto walk = [&]<typename Code>(Code) {
    if (!features.row_by_row) {
      for (int64_t i = node.begin; i < node.end; ++i) {
        visit(binned.code<Code>(feature, rows.rows[i]), i);
      }
      return;
    }
    const Code* codes = features.row_codes<Code>() + feature;
    const int64_t stride = binned.n_features();
    for (int64_t i = node.begin; i < node.end; ++i) visit(codes[rows.rows[i] * stride], i);
  };
  binned.wide ? walk(uint16_t{}) : walk(uint8_t{});
}

}  // namespace rankgrove::forests
