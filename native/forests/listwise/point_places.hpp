// Where the points of a node's trials lie among the blocks of one query.
//
// The place of a point is the last block on the way from the node's score to it, which is the own
// block if the point is near; points that tie with a block have a place of their own, behind those
// of all blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/listwise/point_index.hpp"

namespace rankgrove::forests {

// Number of the first of n descending scores that is not above the wanted one.
inline int32_t find_score(const double* score, int32_t size, double wanted) {
  int32_t begin = 0;
  for (int32_t n = size; n > 0;) {  // without branches that nobody can predict
    const int32_t half = (n + 1) / 2;
    begin += score[begin + half - 1] > wanted ? half : 0;
    n -= half;
  }
  return begin;
}

class PointPlaces {
 public:
  // `score` are those of the query's blocks, best first; `own` is the block of the node's score.
  void start(const double* score, int32_t n_blocks, int32_t own, const PointIndex& points) {
    score_ = score;
    n_blocks_ = n_blocks;
    own_ = own;
    if (ties_.size() <= static_cast<size_t>(n_blocks)) {
      ties_.resize(n_blocks + 1);
      edges_.resize(n_blocks);
    }
    n_ties_ = 0;
    places_.resize(static_cast<size_t>(points.size()) + 2 * kSlack);
    if (points.size() <= kFewPoints) {
      place_points(points);
    } else {
      points.find_above(score_, own_, edges_.data());
      points.find_below(score_ + own_ + 1, n_blocks_ - own_ - 1, edges_.data() + own_ + 1);
      place_blocks(points);
    }
  }

  size_t size() const { return static_cast<size_t>(n_blocks_ + n_ties_); }
  // Of each point.
  const int32_t* places() const { return places_.data() + kSlack; }
  // Blocks that tie with a point: the first place behind those of blocks is that of the first tie.
  int32_t n_ties() const { return n_ties_; }
  const int32_t* ties() const { return ties_.data(); }
  // The points that are near.
  int32_t near_begin() const { return near_begin_; }
  int32_t near_end() const { return near_end_; }

 private:
  // Looks up each point among the blocks.
  void place_points(const PointIndex& points) {
    int32_t* place = places_.data() + kSlack;
    for (int32_t i = 0; i < points.size(); ++i) {
      const int32_t found = find_score(score_, n_blocks_, points[i]);
      if (found < n_blocks_ && score_[found] == points[i]) {
        place[i] = n_blocks_ + n_ties_;
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
    near_begin_ = own_ + 1 < n_blocks_ ? edges_[own_ + 1].not_above : 0;
    std::fill(place + near_begin_, place + near_end_, own_);
    // Writes go in chunks of kSlack and may overshoot; the next block overwrites the excess.
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
    for (int32_t i = own_ + 1; i < n_blocks_ && edges_[i].not_above > 0; ++i) {
      const int32_t begin = i + 1 < n_blocks_ ? edges_[i + 1].not_above : 0;
      int32_t point = edges_[i].below;
      ties_[n_ties] = i;
      n_ties += edges_[i].not_above - point;
      do {
        point -= kSlack;
        std::fill_n(place + point, kSlack, i);
      } while (point > begin);
    }
    for (int32_t t = 0; t < n_ties; ++t) place[edges_[ties_[t]].below] = n_blocks_ + t;
    n_ties_ = n_ties;
  }

  static constexpr int32_t kFewPoints = 16;
  static constexpr int32_t kSlack = 16;  // before and behind the points

  const double* score_ = nullptr;
  int32_t n_blocks_ = 0;
  int32_t own_ = 0;
  std::vector<PointCounts> edges_;
  std::vector<int32_t> ties_;
  int32_t n_ties_ = 0;
  std::vector<int32_t> places_;
  int32_t near_begin_ = 0;
  int32_t near_end_ = 0;
};

}  // namespace rankgrove::forests
