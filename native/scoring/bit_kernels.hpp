// The inner loops of scoring by bit vectors: one bit per row, up to 256 rows at a time.
#pragma once

#include <cstdint>

namespace rankgrove {

constexpr int32_t kBitRows = 256;

// A bit for each of 256 rows.
struct alignas(32) RowBits {
  uint64_t words[4];
};

// A split of a tree, in terms of slots that hold the rows which reach a node. The slots of the
// leaves come first; all are counted in words of 64 bits, as is the predicate's place.
struct BitNode {
  uint32_t predicate;
  uint16_t from;
  uint16_t left;
  uint16_t right;
};

struct BitKernels {
  // predicates[k] = the rows of a tile's column with !(value <= thresholds[k]), for ascending
  // thresholds, over n_groups groups of 32 rows (in tile order).
  void (*compare)(const float* values, int32_t n_groups, const float* thresholds,
                  int32_t n_thresholds, RowBits* predicates);

  // Sends all rows down a tree with at least two leaves; slots[leaf] = the rows that reach it, and
  // planes[b] = the rows whose leaf's number has bit b (n_planes is a multiple of 3). slots must
  // have room for a multiple of 8 leaves. `half`: there are at most 128 rows.
  void (*find_leaves)(const BitNode* nodes, int32_t n_leaves, const RowBits* predicates,
                      RowBits* slots, RowBits* planes, bool half);

  // bytes[row] = the number whose bit b is the row's bit in *planes[b]; at most 8 planes.
  void (*number_rows)(const RowBits* const* planes, int32_t n_planes, int32_t n_groups,
                      uint8_t* bytes);
};

// The fastest kernels for this machine, or the plain ones; all give the same answers.
const BitKernels& bit_kernels(bool simd);

// Number of planes that find_leaves fills: 3 for up to 8 leaves, 6 for 64, 9 for 512.
constexpr int32_t n_planes_for(int32_t n_leaves) {
  return n_leaves <= 8 ? 3 : n_leaves <= 64 ? 6 : 9;
}

}  // namespace rankgrove
