#include "forests/criteria/feature_lanes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

typedef int16_t Keys __attribute__((vector_size(32)));
typedef int16_t HalfKeys __attribute__((vector_size(16)));
typedef uint8_t Codes __attribute__((vector_size(16)));

RANKGROVE_SIMD void make_keys(const uint8_t* codes, const uint8_t* items, int64_t n, Keys* keys) {
  for (int64_t i = 0; i < n; ++i) {
    Codes some;
    load(some, codes + i * FeatureLanes::kLanes);
    const Keys wide = __builtin_convertvector(some, Keys);
    keys[i] = ((wide << 8) | static_cast<int16_t>(items[i])) ^ static_cast<int16_t>(0x8000);
  }
}

// Knuth, The Art of Computer Programming, volume 3, algorithm 5.2.2M.
RANKGROVE_SIMD void merge_exchange(Keys* keys, int64_t n) {
  if (n < 2) return;
  const auto half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)) / 2);
  for (int64_t p = half; p > 0; p /= 2) {
    int64_t q = half;
    int64_t first = 0;
    for (int64_t distance = p;;) {
      for (int64_t begin = first; begin < n - distance; begin += 2 * p) {
        const int64_t end = std::min(begin + p, n - distance);
        for (int64_t i = begin; i < end; ++i) {
          const Keys a = keys[i];
          const Keys b = keys[i + distance];
          keys[i] = a < b ? a : b;
          keys[i + distance] = a < b ? b : a;
        }
      }
      if (q == p) break;
      distance = q - p;
      q /= 2;
      first = p;
    }
  }
}

RANKGROVE_INLINE void raise_gains(const HalfKeys& documents, const HalfKeys& sums,
                                  const HalfKeys& valid, float n_documents, float sum,
                                  Lanes& greatest) {
  const Lanes count = __builtin_convertvector(documents, Lanes);
  const Lanes a = n_documents * __builtin_convertvector(sums, Lanes) - sum * count;
  const Lanes gain = a * a / (count * (n_documents - count));
  const LaneMask better = (gain > greatest) & __builtin_convertvector(valid, LaneMask);
  greatest = better ? gain : greatest;
}

RANKGROVE_SIMD void find_gains(const Keys* keys, int64_t n, float n_documents, float sum,
                               float* gains) {
  Keys count{};
  Keys sums{};
  Lanes greatest[2] = {};
  for (int64_t i = 0; i + 1 < n; ++i) {
    count += (keys[i] >> 5) & static_cast<int16_t>(FeatureLanes::kMostTimes);
    sums += keys[i] & static_cast<int16_t>(FeatureLanes::kMostSum);
    const Keys valid = ((keys[i] ^ keys[i + 1]) & static_cast<int16_t>(0xff00)) != 0;
    HalfKeys parts[3][2];
    std::memcpy(parts[0], &count, sizeof count);
    std::memcpy(parts[1], &sums, sizeof sums);
    std::memcpy(parts[2], &valid, sizeof valid);
    for (int half = 0; half < 2; ++half) {
      raise_gains(parts[0][half], parts[1][half], parts[2][half], n_documents, sum, greatest[half]);
    }
  }
  for (int half = 0; half < 2; ++half) {
    greatest[half] /= n_documents;
    store(gains + half * kLanes, greatest[half]);
  }
}

}  // namespace

// Floats hold such whole numbers.
static_assert(FeatureLanes::kMostRows * FeatureLanes::kMostTimes * FeatureLanes::kMostRows *
                  FeatureLanes::kMostSum <
              1 << 24);

void FeatureLanes::start(const uint8_t* items, int64_t n) {
  uint32_t n_documents = 0;
  uint32_t sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    n_documents += items[i] >> 5;
    sum += items[i] & kMostSum;
  }
  n_ = n;
  items_ = items;
  n_documents_ = static_cast<float>(n_documents);
  sum_ = static_cast<float>(sum);
}

void FeatureLanes::sort() {
  make_keys(codes_, items_, n_, keys_);
  merge_exchange(keys_, n_);
}

void FeatureLanes::greatest_gains(float* gains) const {
  find_gains(keys_, n_, n_documents_, sum_, gains);
}

}  // namespace rankgrove::forests
