// Sorts the values of a node's documents out: those that go left first, both sides in their old
// order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "forests/split.hpp"

namespace rankgrove::forests {

class StablePartition {
 public:
  // Which of n documents go left.
  template <typename Code>
  void set_sides(const Code* codes, int64_t n, const Split& split, int32_t missing_bin) {
    n_ = n;
    if (static_cast<int64_t>(goes_left_.size()) < n) goes_left_.resize(static_cast<size_t>(n));
    uint8_t* const left = goes_left_.data();
    if (split.missing_left) {
      for (int64_t i = 0; i < n; ++i) left[i] = split.goes_left(codes[i], missing_bin);
    } else {
      const auto last = static_cast<Code>(split.bin);
      for (int64_t i = 0; i < n; ++i) left[i] = codes[i] <= last;
    }
  }

  // Moves one value per document; returns how many go left. Random splits often send nearly all
  // documents to one side, so that whole groups move together.
  template <typename T>
  int64_t apply(T* values, T* scratch) const {
    constexpr uint64_t kAllLeft = 0x0101010101010101u;
    const uint8_t* const goes_left = goes_left_.data();
    T* left = values;
    T* right = scratch;
    int64_t i = 0;
    for (; i + kGroup <= n_; i += kGroup) {
      uint64_t sides;
      std::memcpy(&sides, goes_left + i, kGroup);
      if (sides == kAllLeft) {
        std::memmove(left, values + i, kGroup * sizeof(T));
        left += kGroup;
      } else if (sides == 0) {
        std::memcpy(right, values + i, kGroup * sizeof(T));
        right += kGroup;
      } else {
        for (int64_t j = i; j < i + kGroup; ++j) move(values[j], goes_left[j], left, right);
      }
    }
    for (; i < n_; ++i) move(values[i], goes_left[i], left, right);
    std::copy(scratch, right, left);
    return left - values;
  }

 private:
  static constexpr int64_t kGroup = sizeof(uint64_t);

  template <typename T>
  static void move(T value, uint8_t goes_left, T*& left, T*& right) {
    *left = value;
    *right = value;
    left += goes_left;
    right += !goes_left;
  }

  int64_t n_ = 0;
  std::vector<uint8_t> goes_left_;
};

}  // namespace rankgrove::forests
