// The positions of a node's child scores among the blocks of one query.
//
// The position of a score is the last block that documents pass on their way from the node's score
// to it. It is the own block if they pass none (the score is near). A score that ties with a block
// has a position of its own, numbered after those of all blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/listwise/child_score_index.hpp"

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

class ScorePositions {
 public:
  // `score` are those of the query's blocks, best first; `own` is the block of the node's score.
  void start(const double* score, int32_t n_blocks, int32_t own,
             const ChildScoreIndex& child_scores) {
    score_ = score;
    n_blocks_ = n_blocks;
    own_ = own;
    if (ties_.size() <= static_cast<size_t>(n_blocks)) {
      ties_.resize(n_blocks + 1);
      edges_.resize(n_blocks);
    }
    n_ties_ = 0;
    positions_.resize(static_cast<size_t>(child_scores.size()) + 2 * kSlack);
    if (child_scores.size() <= kFewScores) {
      locate_scores(child_scores);
    } else {
      child_scores.find_above(score_, own_, edges_.data());
      child_scores.find_below(score_ + own_ + 1, n_blocks_ - own_ - 1, edges_.data() + own_ + 1);
      locate_blocks(child_scores);
    }
  }

  size_t size() const { return static_cast<size_t>(n_blocks_ + n_ties_); }
  // Position of each child score.
  const int32_t* positions() const { return positions_.data() + kSlack; }
  // Blocks that tie with a child score: tie t has the position n_blocks + t.
  int32_t n_ties() const { return n_ties_; }
  const int32_t* ties() const { return ties_.data(); }
  // The range of child scores that are near.
  int32_t near_begin() const { return near_begin_; }
  int32_t near_end() const { return near_end_; }

 private:
  // Looks up each child score among the blocks.
  void locate_scores(const ChildScoreIndex& child_scores) {
    int32_t* position = positions_.data() + kSlack;
    for (int32_t i = 0; i < child_scores.size(); ++i) {
      const int32_t found = find_score(score_, n_blocks_, child_scores[i]);
      if (found < n_blocks_ && score_[found] == child_scores[i]) {
        position[i] = n_blocks_ + n_ties_;
        ties_[n_ties_++] = found;
      } else {
        position[i] = found - (i < child_scores.first_above());
      }
    }
    near_begin_ = near_end_ = child_scores.first_above();
    while (near_begin_ > 0 && position[near_begin_ - 1] == own_) --near_begin_;
    while (near_end_ < child_scores.size() && position[near_end_] == own_) ++near_end_;
  }

  // Writes the positions block by block; edges_ tells where the blocks lie among the child scores.
  void locate_blocks(const ChildScoreIndex& child_scores) {
    const int32_t n_scores = child_scores.size();
    int32_t* position = positions_.data() + kSlack;
    int32_t n_ties = 0;
    near_end_ = own_ > 0 ? edges_[own_ - 1].below : n_scores;
    near_begin_ = own_ + 1 < n_blocks_ ? edges_[own_ + 1].not_above : 0;
    std::fill(position + near_begin_, position + near_end_, own_);
    // Writes go in chunks of kSlack and may overshoot; the next block overwrites the excess.
    for (int32_t i = own_ - 1; i >= 0 && edges_[i].below < n_scores; --i) {
      const int32_t end = i > 0 ? edges_[i - 1].below : n_scores;
      int32_t index = edges_[i].not_above;
      ties_[n_ties] = i;
      n_ties += index - edges_[i].below;
      do {
        std::fill_n(position + index, kSlack, i);
        index += kSlack;
      } while (index < end);
    }
    for (int32_t i = own_ + 1; i < n_blocks_ && edges_[i].not_above > 0; ++i) {
      const int32_t begin = i + 1 < n_blocks_ ? edges_[i + 1].not_above : 0;
      int32_t index = edges_[i].below;
      ties_[n_ties] = i;
      n_ties += edges_[i].not_above - index;
      do {
        index -= kSlack;
        std::fill_n(position + index, kSlack, i);
      } while (index > begin);
    }
    for (int32_t t = 0; t < n_ties; ++t) position[edges_[ties_[t]].below] = n_blocks_ + t;
    n_ties_ = n_ties;
  }

  static constexpr int32_t kFewScores = 16;
  static constexpr int32_t kSlack = 16;  // before and behind the child scores

  const double* score_ = nullptr;
  int32_t n_blocks_ = 0;
  int32_t own_ = 0;
  std::vector<ScoreCounts> edges_;
  std::vector<int32_t> ties_;
  int32_t n_ties_ = 0;
  std::vector<int32_t> positions_;
  int32_t near_begin_ = 0;
  int32_t near_end_ = 0;
};

}  // namespace rankgrove::forests
