// Small, seedable random numbers. A stream is named by (seed, stream), so that a tree, a node or a
// query draws the same numbers whatever thread runs it and in whatever order.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace rankgrove {

inline constexpr uint64_t kGamma = 0x9e3779b97f4a7c15ull;

inline uint64_t mix64(uint64_t x) {  // SplitMix64's finaliser
  x += kGamma;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// SplitMix64 (Steele, Lea and Flood, 2014): a stream costs nothing to start, and forests start one
// for every node.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(mix64(seed) ^ mix64(~stream)) {}

  uint64_t next() {
    const uint64_t result = mix64(state_);
    state_ += kGamma;
    return result;
  }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Standard normal, by two uniform numbers (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

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
  uint64_t state_;
};

}  // namespace rankgrove
