// Branch-free sorting of a few documents by their codes.
#pragma once

#include <cstdint>

namespace rankgrove::forests {

// With more documents, a table of all codes is faster.
inline constexpr int64_t kMostRanked = 16;

// How many documents each one follows in ascending order of codes, and of numbers where codes are
// equal; the buffer holds kMostRanked. n <= kMostRanked.
void rank_codes(const uint8_t* codes, int64_t n, int16_t* ranks);
void rank_codes(const uint16_t* codes, int64_t n, int32_t* ranks);

template <typename Code>
struct RankOf {
  using Type = int16_t;
};
template <>
struct RankOf<uint16_t> {
  using Type = int32_t;
};

}  // namespace rankgrove::forests
