// The thresholds that a node tries, of several features side by side, with the scores that either
// child would have.
//
// Thresholds of a feature form a *walk*: from one to the next, documents move from the right child
// to the left one. A feature with missing values has two walks, with these on the right and on the
// left. A child's score at some threshold is a *point*; equal scores are one point, whatever walks
// they come from.
//
// Example (that of listwise_splitter.hpp): a feature with the codes 0 0 1 2 3 3 of six documents
// has one walk of three trials, number 0 to 2 (after code 0, 1 and 2), begin = 0 and end = 3.
//   joins     0 0 1 2 3 3     the trial at which each document joins the left child; 3: never
//   trial     0     1     2
//   left      0     1/3   1/2   score of the left child
//   right     3/2   5/3   2     score of the right child
// The reach of the point 5/3 is right_begin = 1 (the right children of trials 1 and 2 have at least
// this score) and left_end = 0 (no left child has).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "forests/criteria/class_counts.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/listwise/point_index.hpp"
#include "forests/listwise/point_places.hpp"
#include "forests/nodes/candidate_list.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

struct Trial {
  int32_t feature;
  int32_t slot;  // of the feature's codes
  int32_t bin;
  int32_t next;  // smallest code on the right
  bool missing_left;
};

struct Walk {
  int32_t begin, end;  // its trials
  int64_t first_join;
  int64_t first_reach;
};

// The trials of a walk whose children's scores lie at or beyond some point, seen from the node's
// score: all of the right child come from right_begin on, all of the left child before left_end.
struct Reach {
  int32_t right_begin;
  int32_t left_end;
};

template <typename Code>
class ThresholdTrials {
 public:
  ThresholdTrials(const ForestData& data, const ForestOptions& options)
      : options_(options), sums_(data.targets), list_(data.features) {}

  void start_node(const NodeRows& documents, double score) {
    score_ = score;
    items_.resize(static_cast<size_t>(documents.n));
    for (int64_t i = 0; i < documents.n; ++i) items_[i] = sums_.item(documents, i);
    clear();
  }

  void clear() {
    trials_.clear();
    walks_.clear();
    joins_.clear();
    scores_.clear();
  }

  // Whether it is time to look at the trials so far, before there are more.
  bool full() const { return trials_.size() >= kManyTrials || joins_.size() >= kManyJoins; }

  void add_feature(const Code* codes, int32_t slot, int32_t feature, int32_t low, int32_t high,
                   Random& random) {
    const auto n = static_cast<int64_t>(items_.size());
    list_.build(codes, items_.data(), n, low, high, sums_, cells_);
    entries_.clear();
    const auto begin = static_cast<int32_t>(trials_.size());
    list_trials(slot, feature, random);
    const auto end = static_cast<int32_t>(trials_.size());
    int32_t middle = begin;
    while (middle < end && !trials_[middle].missing_left) ++middle;
    add_walk(codes, low, high, begin, begin, middle);
    add_walk(codes, low, high, begin, middle, end);
  }

  // Numbers the points, once all trials are there.
  void number_points() {
    points_.build(scores_, score_, child_points_);
    list_reaches();
  }

  int32_t size() const { return static_cast<int32_t>(trials_.size()); }
  const Trial& operator[](int32_t trial) const { return trials_[trial]; }
  // Points of the children of each trial, left and right.
  const int32_t* child_points() const { return child_points_.data(); }
  const std::vector<Walk>& walks() const { return walks_; }
  // Of each document of the node: the first trial of the walk that has it on the left.
  const int32_t* joins(const Walk& walk) const { return joins_.data() + walk.first_join; }

  // None of the points is the node's own score.
  const PointIndex& points() const { return points_; }

  // Trials of a walk that reach beyond the points from which on a query's blocks are passed.
  Reach reach(const Walk& walk, const PointPlaces& places) const {
    const Reach* reaches = reaches_.data() + walk.first_reach;
    const Reach& above = reaches[places.near_end() + 1];
    const Reach& below = reaches[places.near_begin()];
    return {std::min(above.right_begin, below.right_begin),
            std::max(above.left_end, below.left_end)};
  }

  int32_t centered_bin(const NodeSplit& split, int32_t next) const {
    return list_.centered_bin(split, next);
  }

 private:
  static constexpr size_t kManyTrials = 1024;
  static constexpr size_t kManyJoins = size_t{1} << 20;

  void list_trials(int32_t slot, int32_t feature, Random& random) {
    double left[3] = {0, 0, 0};
    double total[3] = {0, 0, 0};
    int32_t last = 0;
    for (int32_t entry = 0; entry < list_.size(); ++entry) add_cell(total, entry);
    list_.for_each_threshold(
        feature, options_.threshold_fraction, random,
        [&](bool first, int32_t entry) {
          if (first) std::fill(left, left + 3, 0.0);
          add_cell(left, entry);
          last = entry;
        },
        [&](int32_t bin, int32_t next, bool missing_left) {
          const double right[3] = {total[0] - left[0], total[1] - left[1], total[2] - left[2]};
          const auto least = static_cast<double>(options_.min_samples_leaf);
          if (left[2] < least || right[2] < least || left[0] <= 0 || right[0] <= 0) return;
          const double left_score = left[1] / left[0];
          const double right_score = right[1] / right[0];
          // Children that keep the node's score change nothing.
          if (!(left_score > score_ && right_score < score_) &&
              !(left_score < score_ && right_score > score_)) {
            return;
          }
          trials_.push_back({feature, slot, bin, next, missing_left});
          entries_.push_back(last);
          scores_.push_back(left_score);
          scores_.push_back(right_score);
        });
  }

  void add_cell(double* sum, int32_t entry) const {
    const double* cell = cells_.data() + list_.offset(entry);
    for (int c = 0; c < 3; ++c) sum[c] += cell[c];
  }

  // A walk of trials begin .. end - 1; entries_ tells the last entry on the left of each trial of
  // the feature, from `first` on.
  void add_walk(const Code* codes, int32_t low, int32_t high, int32_t first, int32_t begin,
                int32_t end) {
    if (begin == end) return;
    join_of_code_.resize(static_cast<size_t>(high - low + 1));
    int32_t trial = begin;
    for (int32_t entry = 0; entry < list_.size(); ++entry) {
      while (trial < end && entries_[trial - first] < entry) ++trial;
      join_of_code_[list_.code(entry) - low] = trial;
    }
    // The last code of a feature with missing values is theirs.
    if (trials_[begin].missing_left) join_of_code_.back() = begin;
    const size_t n = items_.size();
    walks_.push_back({begin, end, static_cast<int64_t>(joins_.size()), 0});
    joins_.resize(joins_.size() + n);
    int32_t* joins = joins_.data() + walks_.back().first_join;
    for (size_t i = 0; i < n; ++i) joins[i] = join_of_code_[codes[i] - low];
  }

  // Reaches of point i are number i + 1; beyond the outermost points there is nothing.
  void list_reaches() {
    const auto n_points = static_cast<int64_t>(points_.size());
    reaches_.resize(walks_.size() * static_cast<size_t>(n_points + 2));
    Reach* reach = reaches_.data();
    for (Walk& walk : walks_) {
      walk.first_reach = reach - reaches_.data();
      std::fill(reach, reach + n_points + 2, Reach{walk.end, walk.begin});
      for (int32_t i = walk.begin; i < walk.end; ++i) {
        reach[child_points_[2 * i] + 1].left_end = i + 1;
        int32_t& right_begin = reach[child_points_[2 * i + 1] + 1].right_begin;
        right_begin = std::min(right_begin, i);
      }
      for (int64_t i = n_points - 1; i > points_.first_above(); --i) widen(reach[i], reach[i + 1]);
      for (int64_t i = 2; i <= points_.first_above(); ++i) widen(reach[i], reach[i - 1]);
      reach += n_points + 2;
    }
  }

  static void widen(Reach& reach, const Reach& beyond) {
    reach.right_begin = std::min(reach.right_begin, beyond.right_begin);
    reach.left_end = std::max(reach.left_end, beyond.left_end);
  }

  const ForestOptions& options_;
  Moments sums_;
  CandidateList<Code> list_;
  double score_ = 0.0;  // of the node
  std::vector<Moments::Item> items_;
  std::vector<Trial> trials_;
  std::vector<Walk> walks_;
  std::vector<int32_t> joins_;
  std::vector<double> scores_;  // of the children of each trial, left and right
  PointIndex points_;
  std::vector<int32_t> child_points_;
  std::vector<Reach> reaches_;

  // The feature at hand.
  std::vector<double> cells_;
  std::vector<int32_t> entries_;
  std::vector<int32_t> join_of_code_;
};

}  // namespace rankgrove::forests
