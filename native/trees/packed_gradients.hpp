// Gradients and Hessians as fixed-point integers, both in one 64-bit word.
//
// A word is (gradient << 30) + hessian. Words add up exactly, in any order, so a histogram does not
// depend on the number of threads; and one addition serves both sums. Values are scaled by a power
// of two, chosen so that no sum over any set of rows can overflow its field, and rounded up or down
// at random in proportion to the remainder: sums of many small gradients keep their expectation.
// Values that are multiples of the unit are exact.
//
// From kWideRows rows of all workers on, a word could not hold their sums. Values then have as many
// bits as the largest one needs for kWideChunk rows to add up in a word, and whoever adds up more
// rows keeps the two sums apart (GradientSums), as the histograms of histogram_pool do.
#pragma once

#include <cstdint>
#include <vector>

#include "distributed/row_share.hpp"

namespace rankgrove {

inline constexpr int kHessianBits = 30;
inline constexpr int64_t kHessianMask = (int64_t{1} << kHessianBits) - 1;

inline int32_t gradient_field(int64_t word) { return static_cast<int32_t>(word >> kHessianBits); }
inline int32_t hessian_field(int64_t word) { return static_cast<int32_t>(word & kHessianMask); }

inline constexpr int64_t kWideRows = int64_t{1} << 29;
inline constexpr int64_t kMostRows = int64_t{1} << 40;  // of all workers
inline constexpr int64_t kWideChunk = int64_t{1} << 15;

// Sums of both fields over any rows of all workers.
struct GradientSums {
  int64_t gradient = 0, hessian = 0;

  bool operator==(const GradientSums&) const = default;
  GradientSums& operator+=(const GradientSums& other) {
    gradient += other.gradient;
    hessian += other.hessian;
    return *this;
  }
  friend GradientSums operator-(const GradientSums& a, const GradientSums& b) {
    return {a.gradient - b.gradient, a.hessian - b.hessian};
  }
};

inline GradientSums unpacked(int64_t word) { return {gradient_field(word), hessian_field(word)}; }
inline int64_t packed_word(const GradientSums& sums) {
  return sums.gradient * (int64_t{1} << kHessianBits) + sums.hessian;
}

// The units of the fields of a word.
struct GradientUnits {
  double gradient_unit = 1.0;  // real value of 1 in the gradient field
  double hessian_unit = 1.0;
  bool counts_rows = false;  // the Hessian field counts rows: every row has 1
  // Sum of g^2 / sum of h: what one more parameter gains by chance. 0 unless it is needed.
  double gain_by_chance = 0.0;
};

struct PackedGradients : GradientUnits {
  std::vector<int64_t> words;  // by row of the matrix
  // Multiplied by these, gradients and Hessians are whole enough for exact sums in 64 bits.
  double gradient_scale64 = 1.0;
  double hessian_scale64 = 1.0;
  int64_t n_sampled = 0;  // rows of all workers that the tree sees
};

struct GradientOptions {
  bool count_rows = false;  // the Hessian field counts rows, whatever the Hessians are
  int64_t n_sampled = 0;    // rows of this worker that the tree sees
  uint64_t seed = 0;
  int n_threads = 1;
};

// Packs the gradients of this worker's n rows; scales are those of the rows of all workers, and
// rounding follows the number that a row has among these. A null `hessians` means 1 for every row;
// negative Hessians count as 0. Throws if a value is not finite.
void pack_gradients(const float* gradients, const float* hessians, int64_t n, const RowShare& share,
                    const GradientOptions& options, PackedGradients& packed);

}  // namespace rankgrove
