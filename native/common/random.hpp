// Small, seedable random numbers. A stream is named by (seed, stream), so that a tree, a node or a
// query draws the same numbers whatever thread runs it and in whatever order.
#pragma once

#include <cstdint>

namespace rankgrove {

inline uint64_t mix64(uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// xoshiro256** by Blackman and Vigna (public domain algorithm).
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) {
    uint64_t x = mix64(seed) ^ mix64(~stream);
    for (auto& word : state_) word = x = mix64(x);
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Uniform in [0, bound), without bias. bound > 0.
  uint64_t below(uint64_t bound) {
    __uint128_t product = static_cast<__uint128_t>(next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = -bound % bound;
      while (static_cast<uint64_t>(product) < threshold) {
        product = static_cast<__uint128_t>(next()) * bound;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t state_[4];
};

}  // namespace rankgrove
