#include "metrics/ranked_query.hpp"

#include <algorithm>
#include <array>

namespace rankgrove {

namespace {

// Selecting beats sorting while the selection is small.
constexpr int64_t kMaxSelection = 32;
// Places per document that documents may move before sorting anew is quicker than moving on.
constexpr int64_t kMaxMoves = 8;

}  // namespace

void RankedQuery::rank(const double* scores, int64_t n, int64_t depth, bool whole_blocks) {
  scores_ = scores;
  n_docs_ = n;
  depth = std::min(depth, n);
  if (depth <= kMaxSelection && depth < n) {
    select_top(depth);
    if (whole_blocks) complete_last_block();
  } else {
    sort_all();
  }
  if (whole_blocks) mark_blocks();
}

void RankedQuery::rank_again(const double* scores, int64_t depth, bool whole_blocks) {
  scores_ = scores;
  depth = std::min(depth, n_docs_);
  if (depth <= kMaxSelection && depth < n_docs_) {
    select_top(depth);
    if (whole_blocks) complete_last_block();
  } else if (!sort_again()) {
    sort_all();
  }
  if (whole_blocks) mark_blocks();
}

// Sorts by insertion; false if too many documents change places.
bool RankedQuery::sort_again() {
  int64_t moves = kMaxMoves * n_docs_;
  for (int64_t rank = 1; rank < n_docs_; ++rank) {
    const int32_t document = order_[rank];
    const double score = scores_[document];
    int64_t place = rank;
    for (; place > 0; --place) {
      const int32_t other = order_[place - 1];
      if (scores_[other] > score || (scores_[other] == score && other < document)) break;
      order_[place] = other;
    }
    order_[place] = document;
    moves -= rank - place;
    if (moves < 0) return false;
  }
  return true;
}

void RankedQuery::select_top(int64_t depth) {
  order_.resize(depth);
  if (depth == 0) return;
  std::array<double, kMaxSelection> top;
  int64_t filled = 0;
  for (int64_t i = 0; i < n_docs_; ++i) {
    const double score = scores_[i];
    if (filled == depth && !(score > top[depth - 1])) continue;
    int64_t place = filled < depth ? filled++ : depth - 1;
    for (; place > 0 && score > top[place - 1]; --place) {
      top[place] = top[place - 1];
      order_[place] = order_[place - 1];
    }
    top[place] = score;
    order_[place] = static_cast<int32_t>(i);
  }
}

void RankedQuery::sort_all() {
  const int32_t* sorted = sorter_.sort(scores_, static_cast<size_t>(n_docs_));
  order_.assign(sorted, sorted + n_docs_);
}

void RankedQuery::complete_last_block() {
  if (order_.empty()) return;
  const double last_score = scores_[order_.back()];
  for (int64_t i = order_.back() + 1; i < n_docs_; ++i) {
    if (scores_[i] == last_score) order_.push_back(static_cast<int32_t>(i));
  }
}

void RankedQuery::mark_blocks() {
  const auto length = static_cast<int64_t>(order_.size());
  block_end_.resize(length);
  for (int64_t begin = 0, end = 0; begin < length; begin = end) {
    const double score = scores_[order_[begin]];
    for (end = begin + 1; end < length && scores_[order_[end]] == score; ++end) {
    }
    block_end_[begin] = end;
  }
}

}  // namespace rankgrove
