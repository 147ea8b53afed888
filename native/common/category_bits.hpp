// Sets of categories, as bits: category c is in a set if bit c % 32 of word c / 32 is 1. What lies
// beyond the words is not in the set.
//
// Example: {0, 2, 33} is {0b101, 0b10}.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rankgrove {

// Codes are below this, so that float32 tells them apart.
inline constexpr uint32_t kMostCategories = uint32_t{1} << 24;
inline constexpr uint32_t kNoCategory = std::numeric_limits<uint32_t>::max();

inline bool has_category(std::span<const uint32_t> words, uint32_t code) {
  return code / 32 < words.size() && (words[code / 32] >> code % 32 & 1) != 0;
}

// The code that a value of a categorical column stands for; kNoCategory if it is none: NaN,
// negative, too large or not whole.
template <typename V>
uint32_t category_code(V value) {
  if (!(value >= 0 && value < static_cast<V>(kMostCategories))) return kNoCategory;
  const auto code = static_cast<uint32_t>(value);
  return static_cast<V>(code) == value ? code : kNoCategory;
}

// The set of some codes, without zero words at its end.
inline std::vector<uint32_t> category_words(std::span<const int32_t> codes) {
  std::vector<uint32_t> words;
  for (const int32_t code : codes) {
    if (code / 32 >= std::ssize(words)) words.resize(code / 32 + 1, 0);
    words[code / 32] |= uint32_t{1} << code % 32;
  }
  return words;
}

}  // namespace rankgrove
