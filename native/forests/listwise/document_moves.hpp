// The documents of a query in the order in which a sweep moves them to the left child.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "forests/listwise/split_candidates.hpp"

namespace rankgrove::forests {

// A document moves to the left child at this candidate, or never if it is the sweep's end.
struct Move {
  int32_t candidate;
  int32_t document;

  auto operator<=>(const Move&) const = default;
};

class DocumentMoves {
 public:
  // Lists the moves of m documents in the order of candidates, and of documents at each of them.
  // Unless candidates are many, the moves at each are counted. For example, three documents that
  // move at candidates 7, 5 and 7 of a sweep that begins at 5: the counts 1 0 2 give the moves at
  // 5, 6 and 7 the places from 0, 1 and 1 on.
  void list(const int32_t* move_at, int32_t m, const Sweep& sweep) {
    moves_.resize(m);
    if (sweep.end - sweep.begin > kCandidatesPerDocument * m) {
      for (int32_t d = 0; d < m; ++d) moves_[d] = {move_at[d], d};
      std::sort(moves_.begin(), moves_.end());
      return;
    }
    places_.assign(sweep.end - sweep.begin + 2, 0);
    for (int32_t d = 0; d < m; ++d) ++places_[move_at[d] - sweep.begin + 1];
    for (size_t c = 1; c < places_.size(); ++c) places_[c] += places_[c - 1];
    for (int32_t d = 0; d < m; ++d) {
      moves_[places_[move_at[d] - sweep.begin]++] = {move_at[d], d};
    }
  }

  size_t size() const { return moves_.size(); }
  const Move& operator[](size_t i) const { return moves_[i]; }

 private:
  static constexpr int64_t kCandidatesPerDocument = 16;

  std::vector<Move> moves_;
  std::vector<int32_t> places_;  // of the moves at each candidate
};

}  // namespace rankgrove::forests
