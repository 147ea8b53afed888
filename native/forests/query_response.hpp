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

// Points with the same blocks between them and s, to which the query responds alike.
struct Stop {
  int32_t block;  // the last one that is passed on the way from s; the own block if there is none
  bool tied;      // the point has the very score of this block
  int32_t begin, end;  // its points
};

class QueryResponse {
 public:
  QueryResponse(const PositionMetric& metric, const LeafTable& leaves)
      : metric_(metric), discounts_(metric.cumulative.data()), leaves_(leaves) {}

  void prefetch(const NodeQuery& query) const {
    const char* p = reinterpret_cast<const char*>(leaves_.blocks(query.query));
    const int64_t n = leaves_.size(query.query) * sizeof(Block);
    for (int64_t i = 0; i < n; i += 64) __builtin_prefetch(p + i);
  }

  // Sorts n points to stops; those from number first_above on are above the node's score.
  void start(const NodeQuery& query, double node_score, const PointIndex& points, int32_t n_points,
             int32_t first_above) {
    blocks_ = leaves_.blocks(query.query);
    n_blocks_ = leaves_.size(query.query);
    own_ = leaves_.find(query.query, node_score);
    all_ = query.all;
    scale_ = metric_.scale[query.query];
    stops_.clear();
    find_stops_above(points, n_points, first_above);
    n_above_ = stops_.size();
    find_stops_below(points, first_above);
  }

  // From s up, then from s down. The first ones of both, where no block is passed, may be empty.
  const std::vector<Stop>& stops() const { return stops_; }
  const Stop& just_above() const { return stops_[0]; }
  const Stop& just_below() const { return stops_[n_above_]; }
  size_t n_above() const { return n_above_; }

  // What the own block is worth when only the documents of other leaves with its score are left in
  // it, less what it is worth now: to be added once, whatever the children's scores.
  double removal() const {
    const Block& own = blocks_[own_];
    return scale_ * (tied_mean() * share(own.start, own.start + n_tied()) - block_value(own));
  }

  // The response to c documents (1 .. m) at each stop.
  void respond(int32_t c, Line* line) const {
    const Block& own = blocks_[own_];
    // Just above s, the documents come before the tied ones of other leaves; just below, they come
    // last of what the own block held.
    const int32_t own_end = own.start + own.count;
    const int32_t tied_end = own.start + n_tied();
    double passed = tied_mean() * (share(own.start + c, tied_end + c) - share(own.start, tied_end));
    line[0] = scaled(share(own.start, own.start + c) / c, passed);
    int32_t block = own_ - 1;
    for (size_t i = 1; i < n_above_; ++i) {
      const Stop& stop = stops_[i];
      for (; block >= stop.block + stop.tied; --block) passed += shifted(blocks_[block], c);
      const int32_t begin = blocks_[stop.block].start;
      line[i] = stop.tied ? tied_line(blocks_[stop.block], begin, c, passed)
                          : scaled(share(begin, begin + c) / c, passed);
    }
    passed = 0.0;
    line[n_above_] = scaled(share(own_end - c, own_end) / c, passed);
    block = own_ + 1;
    for (size_t i = n_above_ + 1; i < stops_.size(); ++i) {
      const Stop& stop = stops_[i];
      for (; block <= stop.block - stop.tied; ++block) passed += shifted(blocks_[block], -c);
      const Block& last = blocks_[stop.block];
      const int32_t end = last.start + last.count;
      line[i] = stop.tied ? tied_line(last, last.start - c, c, passed)
                          : scaled(share(end - c, end) / c, passed);
    }
  }

 private:
  void find_stops_above(const PointIndex& points, int32_t n_points, int32_t first_above) {
    int32_t point = own_ > 0 ? points.below(blocks_[own_ - 1].score) : n_points;
    stops_.push_back({own_, false, first_above, point});
    for (int32_t block = own_ - 1; point < n_points; --block) {
      if (points.is_point(point, blocks_[block].score)) {
        stops_.push_back({block, true, point, point + 1});
        ++point;
      }
      const int32_t end = block > 0 ? points.below(blocks_[block - 1].score) : n_points;
      if (point < end) stops_.push_back({block, false, point, end});
      point = end;
    }
  }

  void find_stops_below(const PointIndex& points, int32_t first_above) {
    int32_t end = first_above;
    int32_t block = own_;
    while (true) {
      const bool last = block + 1 == n_blocks_;
      const double next_score = last ? 0.0 : blocks_[block + 1].score;
      const int32_t below = last ? 0 : points.below(next_score);
      const bool tied = !last && points.is_point(below, next_score);
      if (below + tied < end || block == own_) {
        stops_.push_back({block, false, below + tied, end});
      }
      if (tied) stops_.push_back({block + 1, true, below, below + 1});
      if (below == 0) return;
      end = below;
      ++block;
    }
  }

  // What a block gains if it moves by some ranks.
  double shifted(const Block& block, int32_t ranks) const {
    const int32_t begin = block.start + ranks;
    return block.gain_mean *
           (share(begin, begin + block.count) - share(block.start, block.start + block.count));
  }

  // c documents share their ranks, from `begin` on, with a block.
  Line tied_line(const Block& block, int32_t begin, int32_t c, double passed) const {
    const int32_t n = block.count + c;
    const double per_gain = share(begin, begin + n) / n;
    return scaled(per_gain, passed + block.gain_sum * per_gain - block_value(block));
  }

  Line scaled(double per_gain, double fixed) const { return {scale_ * per_gain, scale_ * fixed}; }
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
  std::vector<Stop> stops_;
  size_t n_above_ = 0;
};

}  // namespace rankgrove::forests
