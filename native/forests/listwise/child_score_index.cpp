#include "forests/listwise/child_score_index.hpp"

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

// Cells of distances on one side of the middle.
struct Side {
  double middle;
  double sign;  // of scores less the middle
  int32_t shift;
  int32_t offset, step;  // cell = offset + step * magnitude
  int32_t first, last;
};

// Returns whether some count may be too small because a cell holds several child scores.
RANKGROVE_SIMD bool count_scores(const double* __restrict scores, int32_t n, const Side side,
                                 const int32_t* __restrict n_before,
                                 const double* __restrict distinct,
                                 ScoreCounts* __restrict counts) {
  int32_t unfinished = 0;
  for (int32_t i = 0; i < n; ++i) {
    const double score = scores[i];
    const auto distance = static_cast<float>(side.sign * (score - side.middle));
    const int32_t magnitude = std::bit_cast<int32_t>(distance) >> side.shift;
    const int32_t cell = std::clamp(side.offset + side.step * magnitude, side.first, side.last);
    int32_t below = n_before[cell];
    below += distinct[below] < score ? 1 : 0;
    unfinished |= distinct[below] < score ? 1 : 0;
    counts[i].below = below;
    counts[i].not_above = below + (distinct[below] == score ? 1 : 0);
  }
  return unfinished != 0;
}

void find(const double* scores, int32_t n, const Side& side, const int32_t* n_before,
          const double* distinct, ScoreCounts* counts) {
  if (!count_scores(scores, n, side, n_before, distinct, counts)) return;
  for (int32_t i = 0; i < n; ++i) {
    int32_t& below = counts[i].below;
    while (distinct[below] < scores[i]) ++below;
    counts[i].not_above = below + (distinct[below] == scores[i]);
  }
}

}  // namespace

void ChildScoreIndex::find_above(const double* scores, int32_t n, ScoreCounts* counts) const {
  find(scores, n,
       {middle_, 1.0, shift_, n_cells_below_ - nearest_above_, 1, n_cells_below_, n_cells_ - 1},
       n_before_.data(), distinct_.data(), counts);
}

void ChildScoreIndex::find_below(const double* scores, int32_t n, ScoreCounts* counts) const {
  find(scores, n, {middle_, -1.0, shift_, farthest_below_, -1, 0, n_cells_below_ - 1},
       n_before_.data(), distinct_.data(), counts);
}

}  // namespace rankgrove::forests
