// Grows regression trees on gradients.
//
// Life of a grower: built once per fit on a binned matrix; then, for each tree, grow() is called
// with that iteration's gradients, and leaf_of_row() gives the leaf of every row of the matrix
// until the next call. All working memory is kept from tree to tree.
//
// Several workers, each with its rows, grow the same tree together. They exchange sums of
// histograms, numbers of rows and leaves. All of these are integers, so every worker makes the same
// decisions, and the same as one worker with all rows.
//
// Its parts, in the order in which a tree needs them:
//   packed_gradients  gradients as integers, whose sums are exact
//   feature_sample    the features that a tree and a node may split, within interactions
//   row_store         bin codes by row; histogram_pool fills and keeps the histograms of nodes
//   row_codes         bin codes of small matrices, for nodes that need no histogram
//   split_search      the best split of one feature; rough_scores rules most splits out
//   node_search       the best split of a node, over features
//   row_partition     rows in node order
//   node_growth       leaf-wise and level-wise growth; oblivious_growth: one rule per level
//   leaf_sums         the values of the nodes
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trees/binned_matrix.hpp"
#include "trees/grow_options.hpp"
#include "trees/growth_state.hpp"
#include "trees/histogram_pool.hpp"
#include "trees/node_growth.hpp"
#include "trees/oblivious_growth.hpp"
#include "trees/split_search.hpp"
#include "trees/tree.hpp"

namespace rankgrove {

class TreeGrower {
 public:
  // `share` says which rows of all workers the matrix holds.
  TreeGrower(std::shared_ptr<const BinnedMatrix> binned, GrowOptions options, RowShare share,
             int n_threads);

  // Grows one tree on the given rows, ascending (all rows if null). A null `hessians` means 1 for
  // every row. Arrays have one entry per row of the matrix.
  // `random_strength` is the noise on the scores of splits; see split_noise.hpp.
  Tree grow(const float* gradients, const float* hessians, const int32_t* rows, int64_t n_rows,
            uint64_t seed, double random_strength = 0.0);

  const std::vector<int32_t>& leaf_of_row() const { return leaf_of_row_; }
  const BinnedMatrix& binned() const { return *state_.binned; }

 private:
  double tree_nanoseconds(int64_t n_rows) const;
  double gradient_unit_by_chance() const;
  bool penalises_categories() const;

  GrowthState state_;
  HistogramPool histograms_;
  SplitSearch search_;
  NodeGrowth node_growth_;
  ObliviousGrowth oblivious_growth_;
  std::vector<int32_t> leaf_of_row_;
};

}  // namespace rankgrove
