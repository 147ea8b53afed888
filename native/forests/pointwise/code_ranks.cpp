#include "forests/pointwise/code_ranks.hpp"

#include <limits>

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

// Every document is compared with all: for a few, that is less than one wrong guess of a branch.
template <typename Rank, typename Code>
RANKGROVE_INLINE void count_smaller(const Code* codes, int64_t n, Rank* ranks) {
  typedef Rank Ranks __attribute__((vector_size(32)));
  constexpr int64_t kAtOnce = sizeof(Ranks) / sizeof(Rank);
  constexpr Rank kLowest = std::numeric_limits<Rank>::min();
  constexpr Rank kPerCode = Rank{1} << (8 * (sizeof(Rank) - sizeof(Code)));
  Rank keys[kMostRanked] = {};
  for (int64_t i = 0; i < n; ++i) keys[i] = static_cast<Rank>(kLowest + codes[i] * kPerCode + i);
  for (int64_t begin = 0; begin < n; begin += kAtOnce) {
    Ranks some;
    load(some, keys + begin);
    Ranks rank{};
    for (int64_t j = 0; j < n; ++j) rank -= some > keys[j];
    store(ranks + begin, rank);
  }
}

}  // namespace

RANKGROVE_SIMD void rank_codes(const uint8_t* codes, int64_t n, int16_t* ranks) {
  count_smaller(codes, n, ranks);
}

RANKGROVE_SIMD void rank_codes(const uint16_t* codes, int64_t n, int32_t* ranks) {
  count_smaller(codes, n, ranks);
}

}  // namespace rankgrove::forests
