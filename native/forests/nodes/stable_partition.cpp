#include "forests/nodes/stable_partition.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

// Where documents come from, and where those that go right go for the time being. Those that go
// left stay in the array, further to the front.
struct Sides {
  const uint8_t* goes_left;
  int32_t* rows;
  int32_t* right_rows;
  uint8_t* labels;
  uint8_t* right_labels;
  int64_t n_left = 0;
  int64_t n_right = 0;
};

template <bool labelled>
void move_one_by_one(Sides& sides, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t left = sides.goes_left[i];
    const int32_t row = sides.rows[i];
    sides.rows[sides.n_left] = row;
    sides.right_rows[sides.n_right] = row;
    if constexpr (labelled) {
      const uint8_t label = sides.labels[i];
      sides.labels[sides.n_left] = label;
      sides.right_labels[sides.n_right] = label;
    }
    sides.n_left += left;
    sides.n_right += 1 - left;
  }
}

#if RANKGROVE_X86

// For every set of 8 documents, their numbers in ascending order, a byte each.
constexpr std::array<uint64_t, 256> kMembers = [] {
  std::array<uint64_t, 256> members{};
  for (uint32_t set = 0; set < 256; ++set) {
    int n = 0;
    for (uint64_t i = 0; i < 8; ++i) {
      if (set >> i & 1) members[set] |= i << (8 * n++);
    }
  }
  return members;
}();

// Moves documents in eights; returns how many it has moved.
template <bool labelled>
RANKGROVE_AVX2 int64_t move_eights(Sides& sides, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t sides_of_eight;
    std::memcpy(&sides_of_eight, sides.goes_left + i, 8);
    const __m128i bits = _mm_cvtsi64_si128(static_cast<int64_t>(sides_of_eight << 7));
    const auto left = static_cast<uint32_t>(_mm_movemask_epi8(bits));
    const __m128i to_left = _mm_cvtsi64_si128(static_cast<int64_t>(kMembers[left]));
    const __m128i to_right = _mm_cvtsi64_si128(static_cast<int64_t>(kMembers[left ^ 255]));
    const __m256i rows = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sides.rows + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sides.rows + sides.n_left),
                        _mm256_permutevar8x32_epi32(rows, _mm256_cvtepu8_epi32(to_left)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sides.right_rows + sides.n_right),
                        _mm256_permutevar8x32_epi32(rows, _mm256_cvtepu8_epi32(to_right)));
    if constexpr (labelled) {
      const __m128i labels = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(sides.labels + i));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(sides.labels + sides.n_left),
                       _mm_shuffle_epi8(labels, to_left));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(sides.right_labels + sides.n_right),
                       _mm_shuffle_epi8(labels, to_right));
    }
    const int64_t n_left = std::popcount(left);
    sides.n_left += n_left;
    sides.n_right += 8 - n_left;
  }
  return i;
}

#endif

template <bool labelled>
void move_all(Sides& sides, int64_t n) {
  int64_t done = 0;
#if RANKGROVE_X86
  if (has_avx2() && n >= 8) done = move_eights<labelled>(sides, n);
#endif
  move_one_by_one<labelled>(sides, done, n);
  std::memcpy(sides.rows + sides.n_left, sides.right_rows, sides.n_right * sizeof(int32_t));
  if constexpr (labelled) {
    std::memcpy(sides.labels + sides.n_left, sides.right_labels, sides.n_right);
  }
}

}  // namespace

int64_t StablePartition::move(int32_t* rows, uint8_t* labels, int64_t n) {
  Sides sides{goes_left_.data(), rows, right_rows_.data(), labels, right_labels_.data()};
  if (labels) {
    move_all<true>(sides, n);
  } else {
    move_all<false>(sides, n);
  }
  return sides.n_left;
}

}  // namespace rankgrove::forests
