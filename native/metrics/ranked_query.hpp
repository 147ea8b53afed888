// The documents of one query, from best to worst score.
//
// Ranks are filled only as deep as the metrics read them: the top k are selected in one scan, a
// deeper list is sorted. Documents of equal score stand in input order; `block_end` marks where a
// block of equal scores ends, for the tie rules that need it.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/ranking_order.hpp"

namespace rankgrove {

class RankedQuery {
 public:
  // Ranks n documents to at least min(depth, n) places. With `whole_blocks` the block of equal
  // scores that the last place belongs to is filled completely, and block ends are known.
  // `scores` must stay alive, and hold no NaN.
  void rank(const double* scores, int64_t n, int64_t depth, bool whole_blocks);
  // The same for other scores of the same documents: starts from their last order, which is quick
  // where few of them change places. The depth must be that of the last call.
  void rank_again(const double* scores, int64_t depth, bool whole_blocks);

  const double* scores() const { return scores_; }  // by document
  int64_t n_docs() const { return n_docs_; }
  int64_t length() const { return static_cast<int64_t>(order_.size()); }  // ranks that are filled
  int32_t document(int64_t rank) const { return order_[rank]; }
  // First rank of the block after the one that starts at `rank`.
  int64_t block_end(int64_t rank) const { return block_end_[rank]; }

 private:
  void select_top(int64_t depth);
  void sort_all();
  bool sort_again();
  void complete_last_block();
  void mark_blocks();

  const double* scores_ = nullptr;
  int64_t n_docs_ = 0;
  std::vector<int32_t> order_;
  std::vector<int64_t> block_end_;
  RankingOrder sorter_;
};

}  // namespace rankgrove
