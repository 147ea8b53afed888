#include "common/numpy_draw.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace rankgrove {
namespace {

// numpy's SeedSequence of up to four words (O'Neill, randutils, 2015).
class SeedWords {
 public:
  SeedWords(uint64_t seed, uint64_t stream) {
    std::array<uint32_t, 4> words{};
    size_t n = 0;
    for (const uint64_t number : {seed, stream}) {  // of each the words that it needs, at least one
      words[n++] = static_cast<uint32_t>(number);
      if (number >> 32) words[n++] = static_cast<uint32_t>(number >> 32);
    }
    uint32_t constant = 0x43b0d7e5u;
    for (size_t i = 0; i < 4; ++i) pool_[i] = hashed(words[i], constant, 0x931e8875u);
    for (size_t from = 0; from < 4; ++from) {
      for (size_t to = 0; to < 4; ++to) {
        if (from == to) continue;
        const uint32_t other = hashed(pool_[from], constant, 0x931e8875u);
        const uint32_t mixed = 0xca01f9ddu * pool_[to] - 0x4973f715u * other;
        pool_[to] = mixed ^ (mixed >> 16);
      }
    }
  }

  std::array<uint64_t, 4> state() const {
    std::array<uint64_t, 4> state{};
    uint32_t constant = 0x8b51f9ddu;
    for (size_t i = 0; i < 8; ++i) {
      const uint64_t word = hashed(pool_[i % 4], constant, 0x58f38dedu);
      state[i / 2] |= word << (32 * (i % 2));
    }
    return state;
  }

 private:
  static uint32_t hashed(uint32_t value, uint32_t& constant, uint32_t factor) {
    value ^= constant;
    constant *= factor;
    value *= constant;
    return value ^ (value >> 16);
  }

  std::array<uint32_t, 4> pool_;
};

// PCG64: PCG XSL RR 128/64 (O'Neill 2014), whose words are used in halves, the lower one first.
class Pcg64 {
 public:
  explicit Pcg64(const std::array<uint64_t, 4>& seed)
      : increment_(joined(seed[2], seed[3]) << 1 | 1) {
    state_ = increment_ + joined(seed[0], seed[1]);
    step();
  }

  // Uniform in 0..most, for most < 2^32 - 1 (Lemire 2019). Nothing is drawn for 0.
  uint32_t up_to(uint32_t most) {
    if (most == 0) return 0;
    const uint32_t bound = most + 1;
    uint64_t product = uint64_t{next_half()} * bound;
    if (static_cast<uint32_t>(product) < bound) {
      const uint32_t threshold = -bound % bound;
      while (static_cast<uint32_t>(product) < threshold) product = uint64_t{next_half()} * bound;
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  using Word128 = unsigned __int128;

  static Word128 joined(uint64_t high, uint64_t low) { return Word128{high} << 64 | low; }
  void step() { state_ = state_ * joined(2549297995355413924u, 4865540595714422341u) + increment_; }

  uint32_t next_half() {
    has_half_ = !has_half_;
    if (!has_half_) return half_;
    step();
    const uint64_t folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    const uint64_t word = std::rotr(folded, static_cast<int>(state_ >> 122));
    half_ = static_cast<uint32_t>(word >> 32);
    return static_cast<uint32_t>(word);
  }

  Word128 increment_, state_;
  bool has_half_ = false;
  uint32_t half_ = 0;
};

std::vector<int32_t> end_of_shuffle(Pcg64& random, int32_t total, int32_t size) {
  std::vector<int32_t> numbers(total);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int32_t i = total - 1; i >= std::max(total - size, 1); --i) {
    std::swap(numbers[i], numbers[random.up_to(static_cast<uint32_t>(i))]);
  }
  numbers.erase(numbers.begin(), numbers.end() - size);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<int32_t> by_floyd(Pcg64& random, int32_t total, int32_t size) {
  std::vector<bool> drawn(total);
  for (int32_t i = total - size; i < total; ++i) {
    const uint32_t number = random.up_to(static_cast<uint32_t>(i));
    drawn[drawn[number] ? i : number] = true;
  }
  std::vector<int32_t> numbers;
  numbers.reserve(size);
  for (int32_t i = 0; i < total; ++i) {
    if (drawn[i]) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace

std::vector<int32_t> numpy_draw(uint64_t seed, uint64_t stream, int32_t total, int32_t size) {
  Pcg64 random(SeedWords(seed, stream).state());
  const bool shuffles = total > 10000 && size > total / 20;
  return shuffles ? end_of_shuffle(random, total, size) : by_floyd(random, total, size);
}

}  // namespace rankgrove
