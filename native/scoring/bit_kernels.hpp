// The inner loops of scoring by bit vectors: one bit per row, up to 256 rows at a time.
//
// Example: six documents with x = 1, 3, 5, 2, 4, 6 (document 0 is the lowest bit, written on the
// right), the thresholds 2, 4, 5 of all trees, and the tree  x <= 2 ? A : (x <= 4 ? B : C).
//   compare      x > 2: 110110    x > 4: 100100    x > 5: 100000      (one predicate each)
//   split_rows   root:  111111
//                A     = root & ~(x > 2) = 001001    right = root & (x > 2) = 110110
//                B     = right & ~(x > 4) = 010010   C = right & (x > 4) = 100100
//   number_sets  of A, B, C, which are leaves 0, 1, 2: bit 0 of the leaf's number is set in the
//                rows of B, bit 1 in those of C: planes 010010 and 100100
//   number_rows  turns planes into a byte per document: leaves 0, 1, 2, 0, 1, 2
// No step branches on a value, and a predicate serves all trees that have its threshold.
#pragma once

#include <cstdint>

namespace rankgrove {

constexpr int32_t kBitRows = 256;
constexpr int32_t kValuesAfter = 64;

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
  // row; fills 3, 6 or 9 planes and overwrites the sets, which have space for a multiple of 8.
  void (*number_sets)(RowBits* sets, int32_t n_sets, RowBits* planes, bool half);

  // bytes[row] = the number whose bit b is the row's bit in planes[b]; at most 8 planes.
  void (*number_rows)(const uint64_t* const* planes, int32_t n_planes, int32_t n_groups,
                      uint8_t* bytes);

  // Adds the values of four trees, in their order, to the score of each row. A tree has at most
  // n_leaves leaves, and kValuesAfter doubles can be read after its values.
  void (*add_four)(const uint8_t (*leaf)[kBitRows], const double* const* values, int32_t n_leaves,
                   int32_t n_rows, double* scores);
};

// The kernels for the widest registers of this machine up to that width, or the plain ones; all
// give the same answers.
const BitKernels& bit_kernels(int32_t vector_bits);

}  // namespace rankgrove
