#include "metrics/ranked_query.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "common/simd.hpp"

namespace rankgrove {

namespace {

// Up to this many documents a place is found by comparing with all others, which never mispredicts
// a branch; longer lists are cut into such runs and merged.
constexpr int64_t kRun = 128;
// Selecting beats sorting while the selection is small.
constexpr int64_t kMaxSelection = 32;
// Places per document that documents may move before sorting anew is quicker than moving on.
constexpr int64_t kMaxMoves = 8;

// Documents are placed a tile at a time, a tile being a few vectors of keys.
constexpr int64_t kVectors = 4;
constexpr int64_t kTile = kLanes * kVectors;

constexpr int64_t padded(int64_t n) { return (n + kTile - 1) / kTile * kTile; }

// The upper half of a score as an integer of the same order: scores of different keys are ordered
// by them, and only scores that agree in their first 20 bits or so share a key.
int32_t sort_key(double score) {
  const auto bits = std::bit_cast<int64_t>(score + 0.0);  // -0.0 becomes 0.0
  return static_cast<int32_t>((bits ^ ((bits >> 63) & 0x7fffffffffffffff)) >> 32);
}

// places[i] = number of documents that stand before document i by (key descending, i ascending).
// Both arrays are padded to whole tiles, keys with the lowest key.
RANKGROVE_SIMD void count_places(const int32_t* keys, int64_t n, int32_t* places) {
  LaneMask number[kVectors];  // of a document in its tile
  for (int64_t i = 0; i < kTile; ++i) number[i / kLanes][i % kLanes] = static_cast<int32_t>(i);
  for (int64_t begin = 0; begin < n; begin += kTile) {
    LaneMask own[kVectors];
    LaneMask place[kVectors];
    std::memcpy(own, keys + begin, sizeof own);
    // True is -1 in a lane. Earlier documents stand before unless their key is lower.
    for (LaneMask& lanes : place) lanes = LaneMask{} + static_cast<int32_t>(begin);
    for (int64_t j = 0; j < begin; ++j) {
      const LaneMask key = LaneMask{} + keys[j];
      for (int64_t v = 0; v < kVectors; ++v) place[v] += own[v] > key;
    }
    for (int64_t j = begin; j < begin + kTile; ++j) {
      const LaneMask key = LaneMask{} + keys[j];
      const LaneMask position = LaneMask{} + static_cast<int32_t>(j - begin);
      for (int64_t v = 0; v < kVectors; ++v) {
        place[v] -= (key > own[v]) | ((key == own[v]) & (number[v] > position));
      }
    }
    for (int64_t j = begin + kTile; j < n; ++j) {
      const LaneMask key = LaneMask{} + keys[j];
      for (int64_t v = 0; v < kVectors; ++v) place[v] -= key > own[v];
    }
    std::memcpy(places + begin, place, sizeof place);
  }
}

// Key and document in one number that is smaller for what stands first.
uint64_t packed(int32_t key, int64_t document) {
  const auto descending = static_cast<uint32_t>(~key) ^ 0x80000000u;
  return static_cast<uint64_t>(descending) << 32 | static_cast<uint64_t>(document);
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
  order_.resize(n_docs_);
  keys_.resize(padded(n_docs_));
  for (int64_t i = 0; i < n_docs_; ++i) keys_[i] = sort_key(scores_[i]);
  std::fill(keys_.begin() + n_docs_, keys_.end(), std::numeric_limits<int32_t>::min());
  places_.resize(padded(std::min(n_docs_, kRun)));
  if (n_docs_ <= kRun) {
    count_places(keys_.data(), n_docs_, places_.data());
    for (int64_t i = 0; i < n_docs_; ++i) order_[places_[i]] = static_cast<int32_t>(i);
  } else {
    merge_runs();
  }
  settle_equal_keys();
}

void RankedQuery::merge_runs() {
  runs_.resize(n_docs_);
  spare_.resize(n_docs_);
  for (int64_t begin = 0; begin < n_docs_; begin += kRun) {
    const int64_t size = std::min(kRun, n_docs_ - begin);
    count_places(keys_.data() + begin, size, places_.data());
    for (int64_t i = 0; i < size; ++i) {
      runs_[begin + places_[i]] = packed(keys_[begin + i], begin + i);
    }
  }
  for (int64_t run = kRun; run < n_docs_; run *= 2) {
    for (int64_t begin = 0; begin < n_docs_; begin += 2 * run) {
      const uint64_t* left = runs_.data() + begin;
      const uint64_t* middle = runs_.data() + std::min(begin + run, n_docs_);
      const uint64_t* right = middle;
      const uint64_t* end = runs_.data() + std::min(begin + 2 * run, n_docs_);
      uint64_t* out = spare_.data() + begin;
      while (left != middle && right != end) {
        const bool from_right = *right < *left;
        *out++ = from_right ? *right : *left;
        right += from_right;
        left += !from_right;
      }
      out = std::copy(left, middle, out);
      std::copy(right, end, out);
    }
    std::swap(runs_, spare_);
  }
  for (int64_t rank = 0; rank < n_docs_; ++rank) order_[rank] = static_cast<int32_t>(runs_[rank]);
}

void RankedQuery::settle_equal_keys() {
  for (int64_t rank = 1; rank < n_docs_; ++rank) {
    if (!(scores_[order_[rank]] > scores_[order_[rank - 1]])) continue;
    const int32_t key = keys_[order_[rank]];
    int64_t begin = rank;
    int64_t end = rank + 1;
    while (begin > 0 && keys_[order_[begin - 1]] == key) --begin;
    while (end < n_docs_ && keys_[order_[end]] == key) ++end;
    std::stable_sort(order_.begin() + begin, order_.begin() + end,
                     [this](int32_t a, int32_t b) { return scores_[a] > scores_[b]; });
    rank = end - 1;
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
