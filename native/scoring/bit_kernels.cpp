#include "scoring/bit_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/simd.hpp"
#include "scoring/bit_kernel_parts.hpp"
#include "scoring/columns.hpp"

namespace rankgrove {

namespace {

template <typename V>
void compare_plain(const V* values, int32_t n_rows, const V* thresholds, int32_t n_thresholds,
                   uint64_t* predicates, bool half) {
  constexpr V inf = std::numeric_limits<V>::infinity();
  const int64_t stride = words_per_predicate(half);
  Range<V> range{inf, -inf};
  for (int32_t i = 0; i < n_rows; ++i) {
    const V value = values[tile_position<V>(i)];
    const V x = std::isnan(value) ? inf : value;
    range.low = std::min(range.low, x);
    range.high = std::max(range.high, x);
  }
  int32_t first = 0;
  int32_t last = 0;
  fill_outside(range, thresholds, n_thresholds, predicates, stride, &first, &last);
  for (int32_t k = first; k < last; ++k) {
    for (int32_t first_row = 0; first_row < n_rows; first_row += 64) {
      uint64_t bits = 0;
      for (int32_t i = 0; i < std::min(64, n_rows - first_row); ++i) {
        const uint64_t right = !(values[tile_position<V>(first_row + i)] <= thresholds[k]);
        bits |= right << i;
      }
      predicates[k * stride + first_row / 64] = bits;
    }
  }
}

void split_rows_plain(const BitNode* nodes, int64_t n_nodes, const uint64_t* predicates,
                      RowBits* slots, bool half) {
  if (half) {
    split_rows<Half>(nodes, n_nodes, predicates, slots);
  } else {
    split_rows<Whole>(nodes, n_nodes, predicates, slots);
  }
}

void number_sets_plain(RowBits* sets, int32_t n_sets, RowBits* planes, bool half) {
  if (half) {
    number_sets<Half>(sets, n_sets, planes);
  } else {
    number_sets<Whole>(sets, n_sets, planes);
  }
}

// ---- numbers ----------------------------------------------------------------------------------

void number_rows_plain(const uint64_t* const* planes, int32_t n_planes, int32_t n_groups,
                       uint8_t* bytes) {
  for (int32_t i = 0; i < 32 * n_groups; ++i) {
    uint32_t number = 0;
    for (int32_t b = 0; b < n_planes; ++b) {
      number |= static_cast<uint32_t>(planes[b][i >> 6] >> (i & 63) & 1) << b;
    }
    bytes[i] = static_cast<uint8_t>(number);
  }
}

constexpr BitKernels kPlain{compare_plain<float>, compare_plain<double>, split_rows_plain,
                            number_sets_plain,    number_rows_plain,     add_four_plain};

}  // namespace

void add_four_plain(const uint8_t (*leaf)[kBitRows], const double* const* values, int32_t,
                    int32_t n_rows, double* scores) {
  static_assert(std::endian::native == std::endian::little, "the first row is in the low byte");
  const double* first = values[0];
  const double* second = values[1];
  const double* third = values[2];
  const double* fourth = values[3];
  const auto add = [=](int32_t i, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    scores[i] = scores[i] + first[a] + second[b] + third[c] + fourth[d];
  };
  int32_t start = 0;
  for (; start + 8 <= n_rows; start += 8) {  // 8 leaves at once: loads are what bounds this loop
    uint64_t eight[4];
    for (int32_t k = 0; k < 4; ++k) std::memcpy(&eight[k], leaf[k] + start, 8);
    for (int32_t i = 0; i < 8; ++i) {
      const auto leaf_in = [&](int32_t k) { return eight[k] >> 8 * i & 255; };
      add(start + i, leaf_in(0), leaf_in(1), leaf_in(2), leaf_in(3));
    }
  }
  for (int32_t i = start; i < n_rows; ++i) add(i, leaf[0][i], leaf[1][i], leaf[2][i], leaf[3][i]);
}

const BitKernels& bit_kernels(int32_t vector_bits) {
#if RANKGROVE_X86
  if (vector_bits >= 512 && has_avx512()) return avx512_bit_kernels();
  if (vector_bits >= 256 && has_avx2()) return avx2_bit_kernels();
#endif
  (void)vector_bits;
  return kPlain;
}

}  // namespace rankgrove
