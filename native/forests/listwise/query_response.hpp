// How the metric of one query responds to the scores of a node's children.
//
// A split of node v, of score s, sends c of the query's m documents in v, with a sum of gains g, to
// a child of score x, and the rest to the other child, on the other side of s. Only blocks between
// the children's scores move: those that the c documents pass on their way from s to x shift by c
// ranks. So the query's metric changes by
//
//   g * per_gain + fixed,
//
// which depend only on c and on the position of x among the query's blocks. The changes by the two
// children are added.
//
// It has two parts: the *near* one, as if no block were passed, and the *far* one, the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/data/forest_targets.hpp"
#include "forests/listwise/child_score_index.hpp"
#include "forests/listwise/leaf_table.hpp"
#include "forests/listwise/node_queries.hpp"
#include "forests/listwise/score_positions.hpp"

namespace rankgrove::forests {

// The change as a function of the sum of gains.
struct Line {
  double per_gain, fixed;
  double at(double gain) const { return gain * per_gain + fixed; }
};

// The near responses to 1 .. m documents, above and below; to no document, they are 0. Here and in
// FarLines, the values for all numbers of documents are contiguous, for vector instructions.
struct NearLines {
  std::vector<double> share_of_one;  // of the query's scale
  std::vector<double> above_per_gain, above_fixed;
  std::vector<double> below_per_gain;

  void resize(int32_t m) {
    if (std::ssize(share_of_one) > m) return;
    for (std::vector<double>* column :
         {&share_of_one, &above_per_gain, &above_fixed, &below_per_gain}) {
      column->resize(m + 1);
    }
  }
};

// The far responses to 1 .. m documents at each position.
struct FarLines {
  int64_t stride = 0;
  std::vector<double> per_gain, fixed;  // [position * stride + number of documents]

  void resize(size_t n_positions, int32_t m) {
    stride = m + 1;
    const size_t size = n_positions * static_cast<size_t>(stride);
    if (per_gain.size() >= size) return;
    per_gain.resize(size);
    fixed.resize(size);
  }
  double at(int32_t position, const Subset& subset) const {
    const int64_t i = position * stride + subset.count;
    return subset.gain * per_gain[i] + fixed[i];
  }
};

class QueryResponse {
 public:
  QueryResponse(const ListwiseMetric& metric, const LeafTable& leaves)
      : metric_(metric), discounts_(metric.cumulative.data()), leaves_(leaves) {}

  // Finds the positions of the child scores among the query's blocks.
  void start(const NodeQuery& query, double node_score, const ChildScoreIndex& child_scores) {
    blocks_ = leaves_.columns(query.query);
    own_ = blocks_.find(node_score);
    all_ = query.all;
    scale_ = metric_.scale[query.query];
    positions_.start(blocks_.score, blocks_.size, own_, child_scores);
  }

  const ScorePositions& positions() const { return positions_; }

  // The contribution of the own block with only the documents of other leaves with its score, minus
  // its current contribution: added once, for any scores of the children.
  double removal() const {
    const int32_t start = own().start;
    return scale_ * (tied_mean() * share(start, start + n_tied()) - value(own()));
  }

  // The near response to 1 .. m documents. Just above s, they rank before the tied documents of
  // other leaves; just below s, after all others of the own block.
  void respond_near(int32_t m, NearLines& near) const;

  // The far response to a single document, at each position.
  void respond(double gain, double* response) const {
    const double scaled_gain = scale_ * gain;
    const double from_first = scaled_gain * blocks_.first_discount[own_] - blocks_.moved_down[own_];
    for (int32_t i = 0; i < own_; ++i) {
      response[i] = scaled_gain * blocks_.first_discount[i] - blocks_.moved_down[i] - from_first;
    }
    const double from_last = scaled_gain * blocks_.last_discount[own_] + blocks_.moved_up[own_];
    response[own_] = 0.0;
    for (int32_t i = own_ + 1; i < blocks_.size; ++i) {
      response[i] = scaled_gain * blocks_.last_discount[i] + blocks_.moved_up[i] - from_last;
    }
    for (int32_t t = 0; t < positions_.n_ties(); ++t) {
      const int32_t i = positions_.ties()[t];
      const bool above = i < own_;
      const double near = above ? blocks_.first_discount[own_] : blocks_.last_discount[own_];
      const double passed = above ? blocks_.moved_down[own_] - blocks_.moved_down[i + 1]
                                  : blocks_.moved_up[i - 1] - blocks_.moved_up[own_];
      response[blocks_.size + t] = tied(i, 1, scale_ * near, passed).at(gain);
    }
  }

  // The far response to 1 .. m documents, at each position.
  void respond(int32_t m, const NearLines& near, FarLines& far) const;

 private:
  // c documents in block i with others; `passed` is what the blocks before it gain.
  Line tied(int32_t i, int32_t c, double near, double passed) const {
    const Block& block = blocks_.block[i];
    const int32_t n = block.count + c;
    const int32_t begin = i < own_ ? block.start : block.start - c;
    const double per_gain = scale_ * share(begin, begin + n) / n;
    return {per_gain - near, passed + block.gain_sum * per_gain - scale_ * value(block)};
  }

  double share(int32_t from, int32_t to) const { return discounts_[to] - discounts_[from]; }
  double value(const Block& block) const {
    return block.gain_mean * share(block.start, block.end());
  }

  const Block& own() const { return blocks_.block[own_]; }
  // Documents of other leaves in the own block.
  int32_t n_tied() const { return own().count - all_.count; }
  double tied_mean() const { return n_tied() > 0 ? (own().gain_sum - all_.gain) / n_tied() : 0.0; }

  const ListwiseMetric& metric_;
  const double* discounts_;
  const LeafTable& leaves_;

  // The query.
  BlockColumns blocks_{};
  int32_t own_ = 0;  // the block that holds the node's documents
  Subset all_;
  double scale_ = 0.0;
  ScorePositions positions_;
};

}  // namespace rankgrove::forests
