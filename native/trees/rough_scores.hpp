// Approximate scores of the splits of one feature, in single precision, eight or sixteen at a time.
// Most features have no split near the best one of the node, and are not searched exactly.
//
// Example: bins with the sums (gradient, Hessian) (1, 1), (2, 1), (-3, 2), without missing values,
// and l2 = 1. The splits after bins 0 and 1 have (1, 1) and (3, 2) to their left, (-1, 3) and
// (-3, 2) to their right, and score
//   (1 * 1 * 4 + 1 * 1 * 2) / (2 * 4) = 0.75,   (3 * 3 * 3 + 3 * 3 * 3) / (3 * 3) = 6.
#pragma once

#include <cstdint>
#include <limits>

namespace rankgrove {

// In units of the fields of a packed word.
struct RoughUnits {
  float l2;
  int32_t min_hessian;  // that a child has at least
};

constexpr double kRoughError = 0x1p-20;  // relative: 13 roundings of 2^-24 each
constexpr double kMostRoughL2 = 0x1p60;  // beyond it, products could overflow
constexpr float kNoRough = -std::numeric_limits<float>::infinity();  // of an impossible split
constexpr int32_t kRoughBlock = 32;

constexpr int32_t n_rough_blocks(int32_t n) { return (n + kRoughBlock - 1) / kRoughBlock; }

// Room for whole blocks of splits.
struct RoughScores {
  int64_t* left;    // packed sums of the left child
  float* score;     // kNoRough where a child is too light, and after the last split
  float* of_block;  // the greatest of each block
};

// Scores the splits after bins 0..n-1 of a feature, given the packed sums of its bins, of missing
// values that go left, and of the node; returns the largest score.
float rough_scores(const int64_t* bins, int32_t n, int64_t missing, int64_t total, RoughUnits units,
                   const RoughScores& scores);

// Returns the largest score only; the content of `scores` is undefined.
float greatest_rough_score(const int64_t* bins, int32_t n, int64_t missing, int64_t total,
                           RoughUnits units, const RoughScores& scores);

// For nodes with fewer rows than bins: lists the bins after which splits differ, bin 0 and those
// that are not 0, and returns how many there are. Of the bins 0, 5, 0, 0, 2 these are the bins 0, 1
// and 4, with the sums 0, 5 and 2. Their splits are scored like those of all bins. There is room
// for whole blocks.
bool can_list_occupied();
int32_t list_occupied(const int64_t* bins, int32_t n, int32_t* bin, int64_t* sums);

}  // namespace rankgrove
