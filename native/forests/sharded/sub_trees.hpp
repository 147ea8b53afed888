// Small nodes are sent with their rows to one worker, which grows their subtrees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/growing/forest_tree.hpp"
#include "forests/sharded/byte_stream.hpp"
#include "forests/sharded/node_histograms.hpp"
#include "forests/sharded/node_table.hpp"

namespace rankgrove::forests {

// Bytes that a row takes on its way.
int64_t packed_row_size(const ForestData& data, bool distinct_rows);

// Appends the rows that this worker has of a node.
void pack_rows(const ForestData& data, const ShardRows& rows, const OpenNode& node,
               ByteWriter& message);

// The rows of a node from all workers, in their order.
struct MovedRows {
  int64_t n = 0;
  int64_t n_documents = 0;
  std::vector<uint8_t> codes;  // row by row, of one or two bytes
  std::vector<double> target;
  std::vector<uint8_t> label;
  std::vector<double> weight;
  std::vector<uint32_t> times;
};

// Appends the rows of the next node of a message; `all` is known of the node on all workers.
void unpack_rows(const ForestData& data, bool distinct_rows, ByteReader& message,
                 const NodeSummary& all, MovedRows& rows);

// Grows the sub-tree of moved rows; `data` are this worker's, whose bins and targets it shares.
void grow_moved(const ForestData& data, const ForestOptions& options, const CriterionTable& table,
                const SubTreeRoot& place, MovedRows rows, bool distinct_rows, GrowingTree& scratch,
                ByteWriter& result);

// Adds the next sub-tree of a message to the table, below the node at `place`.
void graft(ByteReader& message, const Bins& bins, int32_t place, NodeTable& table);

}  // namespace rankgrove::forests
