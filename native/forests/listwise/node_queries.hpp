// The queries that have documents in a node, for listwise splits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/listwise/leaf_table.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

struct NodeQuery {
  int32_t query;
  int64_t first_document;  // in the node, where documents of a query lie side by side
  Subset all;              // its documents in the node
};

class NodeQueries {
 public:
  explicit NodeQueries(const ForestData& data) : data_(data) {}

  // Lists the queries of a node whose metric can change; of these a random fraction.
  void collect(const NodeRows& documents, double fraction, Random& random) {
    const int32_t* rows = documents.rows;
    const int64_t n = documents.n;
    queries_.clear();
    gains_.resize(static_cast<size_t>(n));
    for (int64_t begin = 0; begin < n;) {
      NodeQuery node_query{data_.features.query_of_row[rows[begin]], begin, {}};
      const int64_t last_row = data_.features.offsets[node_query.query + 1];
      int64_t end = begin;
      for (; end < n && rows[end] < last_row; ++end) {
        gains_[end] = data_.targets.metric.gain[rows[end]];
        node_query.all.add(gains_[end]);
      }
      begin = end;
      if (data_.targets.metric.scale[node_query.query] <= 0) continue;
      if (fraction < 1 && random.uniform() >= fraction) continue;
      queries_.push_back(node_query);
    }
  }

  const std::vector<NodeQuery>& all() const { return queries_; }
  // Gains of the node's documents.
  const double* gains() const { return gains_.data(); }

 private:
  const ForestData data_;
  std::vector<NodeQuery> queries_;
  std::vector<double> gains_;
};

}  // namespace rankgrove::forests
