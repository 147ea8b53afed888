// Code shared by the versions of the bit kernels for different processors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/simd.hpp"
#include "scoring/bit_kernels.hpp"

namespace rankgrove {

// Four or two words that the compiler keeps in vector registers where there are any.
using Whole = uint64_t __attribute__((vector_size(32), may_alias));
using Half = uint64_t __attribute__((vector_size(16), may_alias));

// Smallest and largest value of a column; largest is +inf if there is a NaN, which exceeds all.
template <typename V>
struct Range {
  V low;
  V high;
};

// Fills the predicates that are the same for all rows; tells which are left to compare.
template <typename V>
RANKGROVE_INLINE void fill_outside(Range<V> range, const V* thresholds, int32_t n, uint64_t* out,
                                   int64_t stride, int32_t* first, int32_t* last) {
  const V* low = std::lower_bound(thresholds, thresholds + n, range.low);
  const V* high = std::lower_bound(low, thresholds + n, range.high);
  *first = static_cast<int32_t>(low - thresholds);
  const bool unbounded = range.high == std::numeric_limits<V>::infinity();
  *last = unbounded ? n : static_cast<int32_t>(high - thresholds);
  std::fill(out, out + stride * *first, ~uint64_t{0});
  std::fill(out + stride * *last, out + stride * n, uint64_t{0});
}

// Numbers 8 sets of rows: adds to the three planes of their numbers, and gives their union.
template <typename Bits>
RANKGROVE_INLINE void number_eight(const RowBits* sets, Bits* low, Bits* middle, Bits* high,
                                   Bits* all) {
  constexpr int32_t step = sizeof(RowBits) / sizeof(Bits);
  const auto* set = reinterpret_cast<const Bits*>(sets);
  const Bits two_three = set[2 * step] | set[3 * step];
  const Bits four_five = set[4 * step] | set[5 * step];
  const Bits six_seven = set[6 * step] | set[7 * step];
  const Bits upper = four_five | six_seven;
  *low |= (set[1 * step] | set[3 * step]) | (set[5 * step] | set[7 * step]);
  *middle |= two_three | six_seven;
  *high |= upper;
  *all = (set[0] | set[1 * step]) | (two_three | upper);
}

// Numbers up to 8^3 sets, three planes at a time; overwrites the sets.
template <typename Bits>
RANKGROVE_INLINE void number_sets(RowBits* sets, int32_t n_sets, RowBits* planes) {
  for (;;) {
    const int32_t n_eights = (n_sets + 7) / 8;
    for (int32_t i = n_sets; i < 8 * n_eights; ++i) {
      *reinterpret_cast<Bits*>(sets + i) = Bits{};
    }
    Bits low{};
    Bits middle{};
    Bits high{};
    for (int32_t i = 0; i < n_eights; ++i) {
      Bits all;
      number_eight(sets + 8 * i, &low, &middle, &high, &all);
      *reinterpret_cast<Bits*>(sets + i) = all;
    }
    *reinterpret_cast<Bits*>(planes) = low;
    *reinterpret_cast<Bits*>(planes + 1) = middle;
    *reinterpret_cast<Bits*>(planes + 2) = high;
    if (n_eights == 1) return;
    n_sets = n_eights;
    planes += 3;
  }
}

template <typename Bits>
RANKGROVE_INLINE void split_rows(const BitNode* nodes, int64_t n_nodes, const uint64_t* predicates,
                                 RowBits* slots) {
  constexpr size_t scale = sizeof(Bits) / sizeof(Half);
  auto* slot_words = reinterpret_cast<uint64_t*>(slots);
  for (const BitNode* node = nodes; node < nodes + n_nodes; ++node) {
    const Bits right = *reinterpret_cast<const Bits*>(predicates + node->predicate * scale);
    const Bits reach = *reinterpret_cast<const Bits*>(slot_words + node->from);
    *reinterpret_cast<Bits*>(slot_words + node->left) = reach & ~right;
    *reinterpret_cast<Bits*>(slot_words + node->right) = reach & right;
  }
}

#if RANKGROVE_X86
const BitKernels& avx2_bit_kernels();
const BitKernels& avx512_bit_kernels();
#endif

// Adds the values of four trees by plain loads.
void add_four_plain(const uint8_t (*leaf)[kBitRows], const double* const* values, int32_t n_leaves,
                    int32_t n_rows, double* scores);

}  // namespace rankgrove
