#include "metrics/ranked_query.hpp"

#include <algorithm>
#include <numeric>

namespace rankgrove {

namespace {

// Up to this many documents a place is found by comparing with all others, which vectorises and
// never mispredicts; longer lists are cut into such runs and merged.
constexpr int64_t kRun = 128;
// Selecting beats sorting while the selection is small.
constexpr int64_t kMaxSelection = 32;

// places[i] = number of documents that stand before document i.
__attribute__((target_clones("avx2", "default"))) void count_places(const double* scores, int64_t n,
                                                                    int64_t* places) {
  for (int64_t i = 0; i < n; ++i) {
    const double own = scores[i];
    int64_t place = 0;
    for (int64_t j = 0; j < i; ++j) place += scores[j] >= own;
    for (int64_t j = i + 1; j < n; ++j) place += scores[j] > own;
    places[i] = place;
  }
}

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

void RankedQuery::select_top(int64_t depth) {
  order_.resize(depth);
  int64_t filled = 0;
  for (int64_t i = 0; i < n_docs_ && depth > 0; ++i) {
    const double score = scores_[i];
    if (filled == depth && !(score > scores_[order_[depth - 1]])) continue;
    int64_t place = filled < depth ? filled++ : depth - 1;
    for (; place > 0 && score > scores_[order_[place - 1]]; --place) {
      order_[place] = order_[place - 1];
    }
    order_[place] = static_cast<int32_t>(i);
  }
}

void RankedQuery::sort_all() {
  order_.resize(n_docs_);
  places_.resize(std::min(n_docs_, kRun));
  for (int64_t begin = 0; begin < n_docs_; begin += kRun) {
    const int64_t size = std::min(kRun, n_docs_ - begin);
    count_places(scores_ + begin, size, places_.data());
    for (int64_t i = 0; i < size; ++i) {
      order_[begin + places_[i]] = static_cast<int32_t>(begin + i);
    }
  }
  const auto before = [this](int32_t a, int32_t b) { return scores_[a] > scores_[b]; };
  spare_.resize(n_docs_);
  for (int64_t run = kRun; run < n_docs_; run *= 2) {
    for (int64_t begin = 0; begin < n_docs_; begin += 2 * run) {
      const auto first = order_.begin() + begin;
      const auto middle = order_.begin() + std::min(begin + run, n_docs_);
      const auto last = order_.begin() + std::min(begin + 2 * run, n_docs_);
      std::merge(first, middle, middle, last, spare_.begin() + begin, before);
    }
    std::swap(order_, spare_);
  }
}

void RankedQuery::complete_last_block() {
  if (order_.empty()) return;
  const double last_score = scores_[order_.back()];
  for (int64_t i = order_.back() + 1; i < n_docs_; ++i) {
    if (scores_[i] == last_score) order_.push_back(static_cast<int32_t>(i));
  }
}

void RankedQuery::mark_blocks() {
  const int64_t length = static_cast<int64_t>(order_.size());
  block_end_.resize(length);
  for (int64_t begin = 0, end = 0; begin < length; begin = end) {
    const double score = scores_[order_[begin]];
    for (end = begin + 1; end < length && scores_[order_[end]] == score; ++end) {
    }
    block_end_[begin] = end;
  }
}

}  // namespace rankgrove
