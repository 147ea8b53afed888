#include "forests/listwise/document_moves.hpp"

#include <algorithm>
#include <limits>

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

constexpr int32_t kFewDocuments = 32;

static_assert(kFewDocuments % kLanes == 0);

// rank[d] = number of keys below keys[d]. There are n different keys, and then, up to a multiple of
// kLanes, the largest number.
RANKGROVE_SIMD void rank_keys(const int32_t* keys, int32_t n, int32_t* rank) {
  for (int32_t d = 0; d < n; d += kLanes) {
    LaneMask own, below{};
    load(own, keys + d);
    for (int32_t e = 0; e < n; ++e) below -= keys[e] < own;
    store(rank + d, below);
  }
}

}  // namespace

void DocumentMoves::list(const int32_t* move_at, int32_t m, const Sweep& sweep) {
  moves_.resize(m);
  const int32_t n_candidates = sweep.end - sweep.begin;
  if (m <= kFewDocuments && n_candidates < std::numeric_limits<int32_t>::max() / kFewDocuments) {
    int32_t keys[kFewDocuments];
    int32_t rank[kFewDocuments];
    for (int32_t d = 0; d < m; ++d) keys[d] = (move_at[d] - sweep.begin) * kFewDocuments + d;
    std::fill(keys + m, keys + (m + kLanes - 1) / kLanes * kLanes,
              std::numeric_limits<int32_t>::max());
    rank_keys(keys, m, rank);
    for (int32_t d = 0; d < m; ++d) moves_[rank[d]] = {move_at[d], d};
    return;
  }
  if (n_candidates > kCandidatesPerDocument * m) {
    for (int32_t d = 0; d < m; ++d) moves_[d] = {move_at[d], d};
    std::sort(moves_.begin(), moves_.end());
    return;
  }
  places_.assign(n_candidates + 2, 0);
  for (int32_t d = 0; d < m; ++d) ++places_[move_at[d] - sweep.begin + 1];
  for (size_t c = 1; c < places_.size(); ++c) places_[c] += places_[c - 1];
  for (int32_t d = 0; d < m; ++d) {
    moves_[places_[move_at[d] - sweep.begin]++] = {move_at[d], d};
  }
}

}  // namespace rankgrove::forests
