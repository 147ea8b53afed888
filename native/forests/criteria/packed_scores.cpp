#include "forests/criteria/packed_scores.hpp"

#include <algorithm>
#include <limits>

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

typedef uint64_t Words __attribute__((vector_size(32)));

static_assert(sizeof(Words) == sizeof(Lanes64));

// Numbers as doubles, rounded as a conversion does. AVX2 has none for 64 bits: the halves are put
// into the digits of 2^84 and 2^52, which then go again.
RANKGROVE_INLINE void to_doubles(const Words& x, Lanes64& result) {
  constexpr uint64_t kHigh = 0x4530000000000000, kLow = 0x4330000000000000;
  const Words high = (x >> 32) | kHigh;
  const Words low = (x & 0xffffffffu) | kLow;
  Lanes64 low_part;
  std::memcpy(&result, &high, sizeof result);
  std::memcpy(&low_part, &low, sizeof low_part);
  result = (result - (0x1p84 + 0x1p52)) + low_part;
}

// The same for numbers below 2^52.
RANKGROVE_INLINE void small_to_doubles(const Words& x, Lanes64& result) {
  const Words low = x | 0x4330000000000000u;
  std::memcpy(&result, &low, sizeof result);
  result -= 0x1p52;
}

}  // namespace

// With N documents and sum T in the node, c and S on the left, the scores are greater than that of
// the node, T^2 / N, by a^2 / (N c (N - c)), a = N S - c T: nothing is divided.
RANKGROVE_SIMD bool may_score_more(PackedFields fields, uint64_t* left, int64_t n, uint64_t total,
                                   double score) {
  const uint64_t mask = (uint64_t{1} << fields.sum_bits) - 1;
  const auto n_documents = static_cast<double>(total >> fields.sum_bits);
  const double sum = static_cast<double>(total & mask) * fields.step;
  const double sum_factor = n_documents * fields.step;
  // The rounding of a changes a score by less than this part of T^2.
  constexpr double kSlack = 0x1p-46;
  const double bound = n_documents * (score - kSlack * sum * sum) - sum * sum;
  if (!(bound > 1e-280 && n_documents * sum < 1e150)) return true;
  for (int64_t i = n; i < padded_size(n); ++i) left[i] = left[n - 1];
  LaneMask64 some{};
  for (int64_t i = 0; i < n; i += kLanes64) {
    Words l;
    load(l, left + i);
    Lanes64 count_l, sum_l;
    small_to_doubles(l >> fields.sum_bits, count_l);
    to_doubles(l & mask, sum_l);
    const Lanes64 a = sum_factor * sum_l - sum * count_l;
    some |= a * a > bound * (count_l * (n_documents - count_l));
  }
  return (some[0] | some[1] | some[2] | some[3]) != 0;
}

RANKGROVE_SIMD double squared_error_scores(PackedFields fields, uint64_t* left, int64_t n,
                                           uint64_t total, double min_documents, double* score) {
  const uint64_t mask = (uint64_t{1} << fields.sum_bits) - 1;
  const double none = -std::numeric_limits<double>::infinity();
  for (int64_t i = n; i < padded_size(n); ++i) left[i] = left[n - 1];
  Lanes64 greatest = Lanes64{} + none;
  for (int64_t i = 0; i < n; i += kLanes64) {
    Words l;
    load(l, left + i);
    const Words r = total - l;
    Lanes64 count_l, count_r, sum_l, sum_r;
    small_to_doubles(l >> fields.sum_bits, count_l);
    small_to_doubles(r >> fields.sum_bits, count_r);
    to_doubles(l & mask, sum_l);
    to_doubles(r & mask, sum_r);
    sum_l *= fields.step;
    sum_r *= fields.step;
    Lanes64 both = sum_l * sum_l / count_l + sum_r * sum_r / count_r;
    const LaneMask64 enough = (count_l >= min_documents) & (count_r >= min_documents);
    both = enough ? both : Lanes64{} + none;
    store(score + i, both);
    greatest = both > greatest ? both : greatest;
  }
  return std::max(std::max(greatest[0], greatest[1]), std::max(greatest[2], greatest[3]));
}

}  // namespace rankgrove::forests
