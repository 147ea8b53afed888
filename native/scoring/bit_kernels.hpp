// The inner loops of scoring by bit vectors: one bit per row, up to 256 rows at a time.
#pragma once

#include <cstdint>

namespace rankgrove {

constexpr int32_t kBitRows = 256;

// A bit for each of 256 rows.
struct alignas(32) RowBits {
  uint64_t words[4];
};

// Predicates lie side by side in words of 64 bits: four for each, or two if there are at most 128
// rows (`half`), so that a query's predicates take half of the cache.
constexpr int32_t words_per_predicate(bool half) { return half ? 2 : 4; }

// A split of a tree, in terms of slots that hold the rows which reach a node.
struct BitNode {
  uint32_t predicate;  // its number times 2
  uint16_t from;       // slots, counted in words
  uint16_t left;
  uint16_t right;
};

// predicates[k] = the rows of a tile's column with !(value <= thresholds[k]), for ascending
// thresholds, over a number of rows that tile_rows gives.
template <typename V>
using Compare = void (*)(const V* values, int32_t n_rows, const V* thresholds, int32_t n_thresholds,
                         uint64_t* predicates, bool half);

struct BitKernels {
  Compare<float> compare_floats;
  Compare<double> compare_doubles;
  void compare(auto... arguments) const { compare_floats(arguments...); }
  void compare(const double* values, auto... arguments) const {
    compare_doubles(values, arguments...);
  }

  // Fills the slots of all children, in the order of the nodes.
  void (*split_rows)(const BitNode* nodes, int64_t n_nodes, const uint64_t* predicates,
                     RowBits* slots, bool half);

  // planes[b] = the rows of the sets whose number has bit b, for up to 512 sets without a common
  // row; fills 3, 6 or 9 planes and overwrites the sets, which have room for a multiple of 8.
  void (*number_sets)(RowBits* sets, int32_t n_sets, RowBits* planes, bool half);

  // bytes[row] = the number whose bit b is the row's bit in planes[b]; at most 8 planes.
  void (*number_rows)(const uint64_t* const* planes, int32_t n_planes, int32_t n_groups,
                      uint8_t* bytes);
};

// The fastest kernels for this machine, or the plain ones; all give the same answers.
const BitKernels& bit_kernels(bool simd);

}  // namespace rankgrove
