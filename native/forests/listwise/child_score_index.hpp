// An index of the distinct scores that a node's children may have. It counts quickly how many of
// them are below another score.
//
// The scores on either side of the node's own are divided into cells whose width grows with the
// distance from it: child scores are dense around the node's score, since most children are large.
// So a cell seldom holds more than one.
//
// Example (that of listwise_splitter.hpp): the node's score (the middle) is 1, its three thresholds
// give the children 0, 1/3, 1/2 on the left and 3/2, 5/3, 2 on the right. All six are distinct:
//   distinct     0    1/3   1/2  |  3/2   5/3   2        first_above() = 3
//   distances    1    2/3   1/2  |  1/2   2/3   1
//   magnitudes   508  505   504  |  504   505   508      exponent and two bits of the mantissa
//   cells        0    3     4    |  5     6     9
// A block with score 1.6 is at distance 0.6, of magnitude 504: it falls into cell 5, before which
// there are 3 child scores. distinct[3] = 3/2 is below 1.6, distinct[4] is not: 4 are below it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace rankgrove::forests {

// Numbers of child scores below a score, and of those not above it.
struct ScoreCounts {
  int32_t below;
  int32_t not_above;
};

class ChildScoreIndex {
 public:
  // Sorts scores, some above the middle and some below, and writes the index of each among the
  // distinct ones.
  void build(const std::vector<double>& scores, double middle, std::vector<int32_t>& index_of) {
    middle_ = middle;
    make_cells(scores);
    sort_into_cells(scores);
    index_distinct(scores, index_of);
  }

  int32_t size() const { return n_; }
  // Index of the first child score above the middle.
  int32_t first_above() const { return first_above_; }

  double operator[](int32_t i) const { return distinct_[i]; }

  // Counts child scores for n scores that are above (below) the middle.
  void find_above(const double* scores, int32_t n, ScoreCounts* counts) const;
  void find_below(const double* scores, int32_t n, ScoreCounts* counts) const;

 private:
  // Cells are numbered by ascending scores: those below the middle, then those above.
  void make_cells(const std::vector<double>& scores) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double nearest[2] = {kInfinity, kInfinity};
    double farthest[2] = {0.0, 0.0};
    for (const double score : scores) {
      const bool above = score > middle_;
      const double distance = above ? score - middle_ : middle_ - score;
      nearest[above] = std::min(nearest[above], distance);
      farthest[above] = std::max(farthest[above], distance);
    }
    // More than half as many cells per octave of distances as there are scores in all octaves, up
    // to a table that is small.
    const int cells_per_octave =
        std::clamp(static_cast<int>(std::bit_width(scores.size())) - 3, 2, 8);
    shift_ = 23 - cells_per_octave;
    farthest_below_ = magnitude(farthest[0]);
    nearest_above_ = magnitude(nearest[1]);
    n_cells_below_ = farthest_below_ - magnitude(nearest[0]) + 1;
    n_cells_ = n_cells_below_ + magnitude(farthest[1]) - nearest_above_ + 1;
  }

  // Monotone, and proportional to the logarithm of a distance, roughly.
  int32_t magnitude(double distance) const {
    return std::bit_cast<int32_t>(static_cast<float>(distance)) >> shift_;
  }
  int32_t upper_cell(double score) const {
    return std::clamp(n_cells_below_ + magnitude(score - middle_) - nearest_above_, n_cells_below_,
                      n_cells_ - 1);
  }
  int32_t lower_cell(double score) const {
    return std::clamp(farthest_below_ - magnitude(middle_ - score), 0, n_cells_below_ - 1);
  }

  // Orders the numbers of scores by cells, with the number of scores in lower cells.
  void sort_into_cells(const std::vector<double>& scores) {
    n_before_.assign(static_cast<size_t>(n_cells_) + 1, 0);
    cell_.resize(scores.size());
    sorted_.resize(scores.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      cell_[i] = scores[i] > middle_ ? upper_cell(scores[i]) : lower_cell(scores[i]);
      ++n_before_[cell_[i] + 1];
    }
    for (int32_t c = 0; c < n_cells_; ++c) n_before_[c + 1] += n_before_[c];
    next_.assign(n_before_.begin(), n_before_.end());
    for (size_t i = 0; i < scores.size(); ++i) {
      sorted_[next_[cell_[i]]++] = static_cast<int32_t>(i);
    }
  }

  // Sorts each cell and drops duplicates.
  void index_distinct(const std::vector<double>& scores, std::vector<int32_t>& index_of) {
    index_of.resize(scores.size());
    distinct_.clear();
    for (int32_t c = 0; c < n_cells_; ++c) {
      const auto begin = sorted_.begin() + n_before_[c];
      const auto end = sorted_.begin() + n_before_[c + 1];
      n_before_[c] = static_cast<int32_t>(distinct_.size());
      if (c == n_cells_below_) first_above_ = n_before_[c];
      if (end - begin > 1) {
        std::sort(begin, end, [&](int32_t a, int32_t b) { return scores[a] < scores[b]; });
      }
      for (auto i = begin; i != end; ++i) {
        if (i == begin || distinct_.back() != scores[*i]) distinct_.push_back(scores[*i]);
        index_of[*i] = static_cast<int32_t>(distinct_.size()) - 1;
      }
    }
    n_ = static_cast<int32_t>(distinct_.size());
    distinct_.push_back(std::numeric_limits<double>::infinity());
  }

  std::vector<double> distinct_;  // ascending, with a sentinel (infinity) behind them
  double middle_ = 0.0;
  int32_t n_ = 0;
  int32_t first_above_ = 0;

  int shift_ = 0;
  int32_t farthest_below_ = 0;  // magnitudes
  int32_t nearest_above_ = 0;
  int32_t n_cells_below_ = 0;
  int32_t n_cells_ = 0;
  std::vector<int32_t> n_before_;  // distinct scores in lower cells

  std::vector<int32_t> cell_;  // of each score
  std::vector<int32_t> next_;
  std::vector<int32_t> sorted_;
};

}  // namespace rankgrove::forests
