// The candidate splits of a node: thresholds of several features, with the scores that the two
// children would have.
//
// The candidates of a feature in ascending order form a *sweep*: from one to the next, documents
// move from the right child to the left one. A feature with missing values has two sweeps, with
// these on the right and on the left. Equal child scores are indexed once (child_score_index.hpp),
// whatever sweeps they come from.
//
// Example (that of listwise_splitter.hpp): a feature with the codes 0 0 1 2 3 3 of six documents
// has one sweep of three candidates, number 0 to 2 (after code 0, 1 and 2), begin = 0 and end = 3.
//   move_at     0 0 1 2 3 3     the candidate at which each document moves left; 3: never
//   candidate   0     1     2
//   left        0     1/3   1/2   score of the left child
//   right       3/2   5/3   2     score of the right child
// The passing range of the score 5/3 is right_begin = 1 (the right children of candidates 1 and 2
// have at least this score) and left_end = 0 (no left child has).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "forests/criteria/class_counts.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/listwise/child_score_index.hpp"
#include "forests/listwise/score_positions.hpp"
#include "forests/nodes/candidate_list.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

struct SplitCandidate {
  int32_t feature;
  int32_t slot;  // of the feature's codes
  int32_t bin;
  int32_t next;  // smallest code on the right
  bool missing_left;
};

struct Sweep {
  int32_t begin, end;  // its candidates
  int64_t first_move;
  int64_t first_range;
};

// The candidates of a sweep with a child whose score lies at or beyond some score, seen from the
// node's: a right child only from right_begin on, a left child only before left_end.
struct PassingRange {
  int32_t right_begin;
  int32_t left_end;
};

template <typename Code>
class SplitCandidates {
 public:
  SplitCandidates(const ForestData& data, const ForestOptions& options)
      : options_(options), sums_(data.targets), list_(data.features) {}

  void start_node(const NodeRows& documents, double score) {
    score_ = score;
    items_.resize(static_cast<size_t>(documents.n));
    for (int64_t i = 0; i < documents.n; ++i) items_[i] = sums_.item(documents, i);
    clear();
  }

  void clear() {
    candidates_.clear();
    sweeps_.clear();
    move_at_.clear();
    scores_.clear();
  }

  // Whether the candidates so far must be evaluated before more are added.
  bool full() const {
    return candidates_.size() >= kManyCandidates || move_at_.size() >= kManyMoves;
  }

  void add_feature(const Code* codes, int32_t slot, int32_t feature, int32_t low, int32_t high,
                   Random& random) {
    const auto n = static_cast<int64_t>(items_.size());
    list_.build(codes, items_.data(), n, low, high, sums_, cells_);
    entries_.clear();
    const auto begin = static_cast<int32_t>(candidates_.size());
    list_candidates(slot, feature, random);
    const auto end = static_cast<int32_t>(candidates_.size());
    int32_t middle = begin;
    while (middle < end && !candidates_[middle].missing_left) ++middle;
    add_sweep(codes, low, high, begin, begin, middle);
    add_sweep(codes, low, high, begin, middle, end);
  }

  // Indexes the child scores, once all candidates are listed.
  void index_child_scores() {
    child_scores_.build(scores_, score_, child_index_);
    list_passing_ranges();
  }

  int32_t size() const { return static_cast<int32_t>(candidates_.size()); }
  const SplitCandidate& operator[](int32_t candidate) const { return candidates_[candidate]; }
  // Indexes of the scores of each candidate's children, left and right.
  const int32_t* child_index() const { return child_index_.data(); }
  const std::vector<Sweep>& sweeps() const { return sweeps_; }
  // Of each document of the node: the first candidate of the sweep that has it on the left.
  const int32_t* move_at(const Sweep& sweep) const { return move_at_.data() + sweep.first_move; }

  // None of the child scores is the node's own score.
  const ChildScoreIndex& child_scores() const { return child_scores_; }

  // The candidates of a sweep with a child that passes a block of the query.
  PassingRange passing_range(const Sweep& sweep, const ScorePositions& positions) const {
    const PassingRange* ranges = passing_ranges_.data() + sweep.first_range;
    const PassingRange& above = ranges[positions.near_end() + 1];
    const PassingRange& below = ranges[positions.near_begin()];
    return {std::min(above.right_begin, below.right_begin),
            std::max(above.left_end, below.left_end)};
  }

  int32_t centered_bin(const NodeSplit& split, int32_t next) const {
    return list_.centered_bin(split, next);
  }

 private:
  static constexpr size_t kManyCandidates = 1024;
  static constexpr size_t kManyMoves = size_t{1} << 20;

  void list_candidates(int32_t slot, int32_t feature, Random& random) {
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
          candidates_.push_back({feature, slot, bin, next, missing_left});
          entries_.push_back(last);
          scores_.push_back(left_score);
          scores_.push_back(right_score);
        });
  }

  void add_cell(double* sum, int32_t entry) const {
    const double* cell = cells_.data() + list_.offset(entry);
    for (int c = 0; c < 3; ++c) sum[c] += cell[c];
  }

  // A sweep of candidates begin .. end - 1; entries_ tells the last entry on the left of each
  // candidate of the feature, from `first` on.
  void add_sweep(const Code* codes, int32_t low, int32_t high, int32_t first, int32_t begin,
                 int32_t end) {
    if (begin == end) return;
    move_of_code_.resize(static_cast<size_t>(high - low + 1));
    int32_t candidate = begin;
    for (int32_t entry = 0; entry < list_.size(); ++entry) {
      while (candidate < end && entries_[candidate - first] < entry) ++candidate;
      move_of_code_[list_.code(entry) - low] = candidate;
    }
    // The last code of a feature with missing values is theirs.
    if (candidates_[begin].missing_left) move_of_code_.back() = begin;
    const size_t n = items_.size();
    sweeps_.push_back({begin, end, static_cast<int64_t>(move_at_.size()), 0});
    move_at_.resize(move_at_.size() + n);
    int32_t* move_at = move_at_.data() + sweeps_.back().first_move;
    for (size_t i = 0; i < n; ++i) move_at[i] = move_of_code_[codes[i] - low];
  }

  // The range of child score i has the number i + 1; the ranges beyond the outermost are empty.
  void list_passing_ranges() {
    const auto n_scores = static_cast<int64_t>(child_scores_.size());
    passing_ranges_.resize(sweeps_.size() * static_cast<size_t>(n_scores + 2));
    PassingRange* range = passing_ranges_.data();
    for (Sweep& sweep : sweeps_) {
      sweep.first_range = range - passing_ranges_.data();
      std::fill(range, range + n_scores + 2, PassingRange{sweep.end, sweep.begin});
      for (int32_t i = sweep.begin; i < sweep.end; ++i) {
        range[child_index_[2 * i] + 1].left_end = i + 1;
        int32_t& right_begin = range[child_index_[2 * i + 1] + 1].right_begin;
        right_begin = std::min(right_begin, i);
      }
      for (int64_t i = n_scores - 1; i > child_scores_.first_above(); --i)
        widen(range[i], range[i + 1]);
      for (int64_t i = 2; i <= child_scores_.first_above(); ++i) widen(range[i], range[i - 1]);
      range += n_scores + 2;
    }
  }

  static void widen(PassingRange& range, const PassingRange& beyond) {
    range.right_begin = std::min(range.right_begin, beyond.right_begin);
    range.left_end = std::max(range.left_end, beyond.left_end);
  }

  const ForestOptions& options_;
  Moments sums_;
  CandidateList<Code> list_;
  double score_ = 0.0;  // of the node
  std::vector<Moments::Item> items_;
  std::vector<SplitCandidate> candidates_;
  std::vector<Sweep> sweeps_;
  std::vector<int32_t> move_at_;
  std::vector<double> scores_;  // of the children of each candidate, left and right
  ChildScoreIndex child_scores_;
  std::vector<int32_t> child_index_;
  std::vector<PassingRange> passing_ranges_;

  // The feature at hand.
  std::vector<double> cells_;
  std::vector<int32_t> entries_;
  std::vector<int32_t> move_of_code_;
};

}  // namespace rankgrove::forests
