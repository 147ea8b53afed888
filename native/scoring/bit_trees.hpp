// Scores trees of up to 256 leaves, and oblivious trees of up to 2^16, by bit vectors over rows.
//
// For a block of up to 256 rows:
// 1. Each distinct (column, threshold) of all trees is compared with each row once; the result is
//    a bit vector over rows, the predicate. Trees share thresholds, so they share this work. Each
//    distinct (column, set of categories) likewise.
// 2. Each tree sends all rows down at once: rows(left) = rows(node) & ~predicate, rows(right) =
//    rows(node) & predicate. The bit vectors of its leaves give each row the number of its leaf. In
//    an oblivious tree the predicates of the levels are the bits of that number already.
// 3. Leaf values are added up row by row, for a group of trees at a time.
//
// This is QuickScorer's idea (Lucchese et al. 2015; no branch ever depends on the data) with the
// bits of many rows side by side instead of the leaves of one row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scoring/bit_kernels.hpp"
#include "scoring/columns.hpp"
#include "scoring/ensemble.hpp"

namespace rankgrove {

constexpr int32_t kMostBitLeaves = 256;
constexpr int32_t kMostBitLevels = 16;  // of an oblivious tree

// V is the type of thresholds, in which values are compared: float, or double for precise ones.
template <typename V>
class BitTrees {
 public:
  // Tells whether a tree can be scored in this way.
  static bool accepts(const EnsembleArrays& ensemble, int32_t tree);

  BitTrees(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
           const MissingPolicy& policy, int32_t vector_bits);

  // Adds the trees' values for the first n_rows (at most kBitRows) rows of the matrix:
  // scores[output * stride + row].
  template <typename T>
  void add_scores(const StridedRows<T>& matrix, int32_t n_rows, double* scores,
                  int32_t stride) const;

 private:
  struct Tree {
    int32_t n_leaves;
    int32_t n_levels;     // of an oblivious tree, else -1
    int32_t first_slot;   // of its leaves
    int64_t first_rule;   // of an oblivious tree: its levels' predicates, from the root
    int64_t first_value;  // of its leaves
  };
  // Trees of one output that are scored together: their splits take turns, level by level, so that
  // no split waits for the one before.
  struct Group {
    int32_t output;
    int32_t first_tree, last_tree;
    int64_t first_node, last_node;
    int32_t most_leaves;  // of one of its trees
  };
  // A set of categories of a column, and one word more, which is 0, for all categories beyond it.
  struct SetTest {
    int32_t column;
    int32_t n_words;
    int64_t first_word;
  };
  struct Scratch;

  void add_set_tests(const EnsembleArrays& ensemble, std::span<const int32_t> trees);
  std::span<const uint32_t> words(const SetTest& test) const {
    return {set_words_.data() + test.first_word, static_cast<size_t>(test.n_words)};
  }
  void test_sets(const V* values, int32_t n_rows, int32_t column, uint64_t* predicates,
                 int64_t stride) const;
  uint32_t predicate(const EnsembleArrays& ensemble, int64_t node) const;
  int32_t size_of_group(const EnsembleArrays& ensemble, std::span<const int32_t> trees) const;
  void add_group(const EnsembleArrays& ensemble, std::span<const int32_t> trees);
  template <typename T>
  void find_predicates(const StridedRows<T>& matrix, int32_t n_rows, Scratch& scratch) const;
  void find_leaves(const Group& group, int32_t n_rows, Scratch& scratch) const;

  const BitKernels& kernels_;
  Columns columns_;
  std::vector<int32_t> threshold_offsets_;  // of each column
  std::vector<V> thresholds_;               // ascending within a column
  std::vector<SetTest> set_tests_;          // by column, then by their words
  std::vector<uint32_t> set_words_;
  std::vector<Group> groups_;  // by output, then in tree order
  std::vector<Tree> trees_;
  std::vector<BitNode> nodes_;
  std::vector<uint32_t> rules_;
  std::vector<double> values_;  // of leaves, weighted
};

}  // namespace rankgrove
