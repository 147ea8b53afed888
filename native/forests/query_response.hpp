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
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/forest_data.hpp"
#include "forests/leaf_table.hpp"
#include "forests/node_queries.hpp"
#include "forests/point_index.hpp"

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
    blocks_ = leaves_.blocks(query.query);
    n_blocks_ = leaves_.size(query.query);
    own_ = leaves_.find(query.query, node_score);
    all_ = query.all;
    scale_ = metric_.scale[query.query];
    n_passed_.assign(static_cast<size_t>(points.size()) + 2, 0);
    ties_.clear();
    find_blocks_above(points);
    find_blocks_below(points);
    list_places(points);
  }

  // A place is a number of passed blocks, upwards or downwards, or a tie with a block. The places
  // just above and just below s, where no block is passed, come first.
  size_t n_places() const { return static_cast<size_t>(n_above_ + n_below_) + 2 + ties_.size(); }
  static constexpr int32_t kJustAbove = 0;
  static constexpr int32_t kJustBelow = 1;
  // Place of each point.
  const int32_t* places() const { return places_.data(); }
  // The points that are just above or just below.
  int32_t near_begin() const { return near_begin_; }
  int32_t near_end() const { return near_end_; }

  // What the own block is worth when only the documents of other leaves with its score are left in
  // it, less what it is worth now: to be added once, whatever the children's scores.
  double removal() const {
    const Block& own = blocks_[own_];
    return scale_ * (tied_mean() * share(own.start, own.start + n_tied()) - block_value(own));
  }

  // The response to c documents (1 .. m) at each place.
  void respond(int32_t c, Line* line) const {
    const Block& own = blocks_[own_];
    // Just above s, the documents come before the tied ones of other leaves; just below, they come
    // last of what the own block held.
    const int32_t own_end = own.start + own.count;
    const int32_t tied_end = own.start + n_tied();
    const double share_of_one = scale_ / c;
    double passed =
        scale_ * tied_mean() * (share(own.start + c, tied_end + c) - share(own.start, tied_end));
    line[kJustAbove] = {share_of_one * share(own.start, own.start + c), passed};
    line[kJustBelow] = {share_of_one * share(own_end - c, own_end), 0.0};
    Line* next = line + 2;
    for (int32_t i = own_ - 1; i >= own_ - n_above_; --i) {
      passed += scale_ * shifted(blocks_[i], c);
      *next++ = {share_of_one * share(blocks_[i].start, blocks_[i].start + c), passed};
    }
    passed = 0.0;
    for (int32_t i = own_ + 1; i <= own_ + n_below_; ++i) {
      passed += scale_ * shifted(blocks_[i], -c);
      const int32_t end = blocks_[i].start + blocks_[i].count;
      *next++ = {share_of_one * share(end - c, end), passed};
    }
    for (const Tie& tie : ties_) {
      const Block& block = blocks_[tie.block];
      const int32_t n = block.count + c;
      const int32_t begin = tie.block < own_ ? block.start : block.start - c;
      const double per_gain = scale_ * share(begin, begin + n) / n;
      const double fixed = line[tie.before].fixed + block.gain_sum * per_gain;
      *next++ = {per_gain, fixed - scale_ * block_value(block)};
    }
  }

 private:
  struct Tie {
    int32_t point;
    int32_t block;
    int32_t before;  // the place on the near side of the block
  };

  // Counts, for each point above s, the blocks between it and the next lower one.
  void find_blocks_above(const PointIndex& points) {
    const int32_t n = points.size();
    n_above_ = 0;
    near_end_ = n;
    for (int32_t i = own_ - 1; i >= 0; --i) {
      const int32_t point = points.below_upper(blocks_[i].score);
      if (i == own_ - 1) near_end_ = point;
      if (point == n) return;
      const bool tied = points.is_point(point, blocks_[i].score);
      if (tied) ties_.push_back({point, i, n_above_ == 0 ? kJustAbove : n_above_ + 1});
      ++n_above_;
      ++n_passed_[point + tied + 1];
    }
  }

  // Counts, for each point below s, the blocks between it and the next higher one.
  void find_blocks_below(const PointIndex& points) {
    n_below_ = 0;
    near_begin_ = 0;
    for (int32_t i = own_ + 1; i < n_blocks_; ++i) {
      const int32_t point = points.below_lower(blocks_[i].score);
      const bool tied = points.is_point(point, blocks_[i].score);
      if (i == own_ + 1) near_begin_ = point + tied;
      if (point + tied == 0) return;
      if (tied) {
        ties_.push_back({point, i, n_below_ == 0 ? kJustBelow : n_above_ + n_below_ + 1});
      }
      ++n_below_;
      ++n_passed_[point];
    }
  }

  // Passed blocks of a point above s: all counts up to it; of one below s: all from it on.
  void list_places(const PointIndex& points) {
    places_.resize(static_cast<size_t>(points.size()));
    std::fill(places_.begin() + near_begin_, places_.begin() + points.first_above(), kJustBelow);
    std::fill(places_.begin() + points.first_above(), places_.begin() + near_end_, kJustAbove);
    int32_t place = 1;
    for (int32_t i = near_end_; i < points.size(); ++i) places_[i] = place += n_passed_[i + 1];
    place = n_above_ + 1;
    for (int32_t i = near_begin_; i-- > 0;) places_[i] = place += n_passed_[i + 1];
    place = n_above_ + n_below_ + 2;
    for (const Tie& tie : ties_) places_[tie.point] = place++;
  }

  // What a block gains if it moves by some ranks.
  double shifted(const Block& block, int32_t ranks) const {
    const int32_t begin = block.start + ranks;
    return block.gain_mean *
           (share(begin, begin + block.count) - share(block.start, block.start + block.count));
  }

  double share(int32_t from, int32_t to) const { return discounts_[to] - discounts_[from]; }
  double block_value(const Block& block) const {
    return block.gain_mean * share(block.start, block.start + block.count);
  }

  // Documents of other leaves in the own block.
  int32_t n_tied() const { return blocks_[own_].count - all_.count; }
  double tied_mean() const {
    return n_tied() > 0 ? (blocks_[own_].gain_sum - all_.gain) / n_tied() : 0.0;
  }

  const PositionMetric& metric_;
  const double* discounts_;
  const LeafTable& leaves_;

  // The query.
  const Block* blocks_ = nullptr;
  int32_t n_blocks_ = 0;
  int32_t own_ = 0;  // the block that holds the node's documents
  Portion all_;
  double scale_ = 0.0;
  int32_t n_above_ = 0;  // blocks that are passed on the way to the farthest points
  int32_t n_below_ = 0;
  int32_t near_begin_ = 0;
  int32_t near_end_ = 0;
  std::vector<int32_t> n_passed_;  // number i + 1: between point i and the one nearer to s
  std::vector<Tie> ties_;
  std::vector<int32_t> places_;
};

}  // namespace rankgrove::forests
