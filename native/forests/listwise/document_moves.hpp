// The documents of a query in the order in which a sweep moves them to the left child.
#pragma once

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
  //
  // If there are few documents, the place of each is found by comparing it with all others. If
  // there are more, the moves at each candidate are counted, unless there are many candidates. For
  // example, three documents that move at candidates 7, 5 and 7 of a sweep that begins at 5: the
  // counts 1 0 2 give the moves at 5, 6 and 7 the places from 0, 1 and 1 on.
  void list(const int32_t* move_at, int32_t m, const Sweep& sweep);

  size_t size() const { return moves_.size(); }
  const Move& operator[](size_t i) const { return moves_[i]; }

 private:
  static constexpr int64_t kCandidatesPerDocument = 16;

  std::vector<Move> moves_;
  std::vector<int32_t> places_;  // of the moves at each candidate
};

}  // namespace rankgrove::forests
