// How the metric of one query responds to the scores of a node's children.
//
// A split of node v, of score s, sends c of the query's m documents in v, with a sum of gains g, to
// a child of score x, and the rest to the other child, on the other side of s. Only blocks between
// the children's scores move: those that the c documents pass on their way from s to x shift by c
// ranks. So the query's metric changes by
//
//   g * per_gain + fixed,
//
// both of which depend on c alone and on where x lies among the query's blocks. What the two
// children do adds up.
//
// It is told in two parts: the *near* one, as if no block were passed, and the *far* one, the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/data/forest_targets.hpp"
#include "forests/listwise/leaf_table.hpp"
#include "forests/listwise/node_queries.hpp"
#include "forests/listwise/point_index.hpp"

namespace rankgrove::forests {

// The change as a function of the sum of gains.
struct Line {
  double per_gain, fixed;
  double at(double gain) const { return gain * per_gain + fixed; }
};

class QueryResponse {
 public:
  QueryResponse(const PositionMetric& metric, const LeafTable& leaves)
      : metric_(metric), discounts_(metric.cumulative.data()), leaves_(leaves) {}

  // Finds where the points lie among the query's blocks.
  void start(const NodeQuery& query, double node_score, const PointIndex& points) {
    blocks_ = leaves_.columns(query.query);
    own_ = blocks_.find(node_score);
    all_ = query.all;
    scale_ = metric_.scale[query.query];
    if (ties_.size() <= static_cast<size_t>(blocks_.size)) {
      ties_.resize(blocks_.size + 1);
      edges_.resize(blocks_.size);
    }
    n_ties_ = 0;
    places_.resize(static_cast<size_t>(points.size()) + 2 * kSlack);
    if (points.size() <= kFewPoints) {
      place_points(points);
    } else {
      points.find_above(blocks_.score, own_, edges_.data());
      points.find_below(blocks_.score + own_ + 1, blocks_.size - own_ - 1,
                        edges_.data() + own_ + 1);
      place_blocks(points);
    }
  }

  // The place of a point is the last block on the way to it, which is the own block if the point is
  // near; points that tie with a block have a place of their own, behind those of all blocks.
  size_t n_places() const { return static_cast<size_t>(blocks_.size + n_ties_); }
  const int32_t* places() const { return places_.data() + kSlack; }
  // The points that are near.
  int32_t near_begin() const { return near_begin_; }
  int32_t near_end() const { return near_end_; }

  // What the own block is worth when only the documents of other leaves with its score are left in
  // it, less what it is worth now: to be added once, whatever the children's scores.
  double removal() const {
    const int32_t start = own().start;
    return scale_ * (tied_mean() * share(start, start + n_tied()) - value(own()));
  }

  // The near response to c documents (1 .. m). Just above s, they come before the tied ones of
  // other leaves; just below, they come last of what the own block held.
  Line near_above(int32_t c) const {
    const int32_t start = own().start;
    const int32_t tied_end = start + n_tied();
    return {scale_ / c * share(start, start + c),
            scale_ * tied_mean() * (share(start + c, tied_end + c) - share(start, tied_end))};
  }
  Line near_below(int32_t c) const {
    const int32_t end = own().end();
    return {scale_ / c * share(end - c, end), 0.0};
  }

  // The far response to a single document, at each place.
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
    for (int32_t t = 0; t < n_ties_; ++t) {
      const int32_t i = ties_[t];
      const bool above = i < own_;
      const double near = above ? blocks_.first_discount[own_] : blocks_.last_discount[own_];
      const double passed = above ? blocks_.moved_down[own_] - blocks_.moved_down[i + 1]
                                  : blocks_.moved_up[i - 1] - blocks_.moved_up[own_];
      response[blocks_.size + t] = tied(i, 1, scale_ * near, passed).at(gain);
    }
  }

  // The far response to c documents, at each place.
  void respond(int32_t c, Line* line) const {
    const double share_of_one = scale_ / c;
    const double above = near_above(c).per_gain;
    line[own_] = {0.0, 0.0};
    for (int32_t i = own_ - 1; i >= 0; --i) {
      const Block& block = blocks_.block[i];
      line[i] = {share_of_one * share(block.start, block.start + c) - above,
                 line[i + 1].fixed + scale_ * shifted(block, c)};
    }
    const double below = near_below(c).per_gain;
    for (int32_t i = own_ + 1; i < blocks_.size; ++i) {
      const Block& block = blocks_.block[i];
      line[i] = {share_of_one * share(block.end() - c, block.end()) - below,
                 line[i - 1].fixed + scale_ * shifted(block, -c)};
    }
    for (int32_t t = 0; t < n_ties_; ++t) {
      const int32_t i = ties_[t];
      line[blocks_.size + t] =
          i < own_ ? tied(i, c, above, line[i + 1].fixed) : tied(i, c, below, line[i - 1].fixed);
    }
  }

 private:
  // Looks up each point among the blocks.
  void place_points(const PointIndex& points) {
    int32_t* place = places_.data() + kSlack;
    for (int32_t i = 0; i < points.size(); ++i) {
      const int32_t found = blocks_.find(points[i]);
      if (found < blocks_.size && blocks_.score[found] == points[i]) {
        place[i] = blocks_.size + n_ties_;
        ties_[n_ties_++] = found;
      } else {
        place[i] = found - (i < points.first_above());
      }
    }
    near_begin_ = near_end_ = points.first_above();
    while (near_begin_ > 0 && place[near_begin_ - 1] == own_) --near_begin_;
    while (near_end_ < points.size() && place[near_end_] == own_) ++near_end_;
  }

  // Lists the points behind each block; edges_ tells where the blocks lie among the points.
  void place_blocks(const PointIndex& points) {
    const int32_t n_points = points.size();
    int32_t* place = places_.data() + kSlack;
    int32_t n_ties = 0;
    near_end_ = own_ > 0 ? edges_[own_ - 1].below : n_points;
    near_begin_ = own_ + 1 < blocks_.size ? edges_[own_ + 1].not_above : 0;
    std::fill(place + near_begin_, place + near_end_, own_);
    // What is written too far is put right by the next block.
    for (int32_t i = own_ - 1; i >= 0 && edges_[i].below < n_points; --i) {
      const int32_t end = i > 0 ? edges_[i - 1].below : n_points;
      int32_t point = edges_[i].not_above;
      ties_[n_ties] = i;
      n_ties += point - edges_[i].below;
      do {
        std::fill_n(place + point, kSlack, i);
        point += kSlack;
      } while (point < end);
    }
    for (int32_t i = own_ + 1; i < blocks_.size && edges_[i].not_above > 0; ++i) {
      const int32_t begin = i + 1 < blocks_.size ? edges_[i + 1].not_above : 0;
      int32_t point = edges_[i].below;
      ties_[n_ties] = i;
      n_ties += edges_[i].not_above - point;
      do {
        point -= kSlack;
        std::fill_n(place + point, kSlack, i);
      } while (point > begin);
    }
    for (int32_t t = 0; t < n_ties; ++t) place[edges_[ties_[t]].below] = blocks_.size + t;
    n_ties_ = n_ties;
  }

  // c documents in block i with others; `passed` is what the blocks before it gain.
  Line tied(int32_t i, int32_t c, double near, double passed) const {
    const Block& block = blocks_.block[i];
    const int32_t n = block.count + c;
    const int32_t begin = i < own_ ? block.start : block.start - c;
    const double per_gain = scale_ * share(begin, begin + n) / n;
    return {per_gain - near, passed + block.gain_sum * per_gain - scale_ * value(block)};
  }

  // What a block gains if it moves by some ranks.
  double shifted(const Block& block, int32_t ranks) const {
    return block.gain_mean *
           (share(block.start + ranks, block.end() + ranks) - share(block.start, block.end()));
  }

  double share(int32_t from, int32_t to) const { return discounts_[to] - discounts_[from]; }
  double value(const Block& block) const {
    return block.gain_mean * share(block.start, block.end());
  }

  const Block& own() const { return blocks_.block[own_]; }
  // Documents of other leaves in the own block.
  int32_t n_tied() const { return own().count - all_.count; }
  double tied_mean() const { return n_tied() > 0 ? (own().gain_sum - all_.gain) / n_tied() : 0.0; }

  static constexpr int32_t kFewPoints = 16;
  static constexpr int32_t kSlack = 16;  // before and behind the points

  const PositionMetric& metric_;
  const double* discounts_;
  const LeafTable& leaves_;

  // The query.
  BlockColumns blocks_{};
  int32_t own_ = 0;  // the block that holds the node's documents
  Portion all_;
  double scale_ = 0.0;
  std::vector<PointCounts> edges_;
  std::vector<int32_t> ties_;  // blocks that tie with a point
  int32_t n_ties_ = 0;
  std::vector<int32_t> places_;
  int32_t near_begin_ = 0;
  int32_t near_end_ = 0;
};

}  // namespace rankgrove::forests
