// Running sums of documents in the order of a feature's codes, where one code is frequent.
//
// Most columns have a very frequent value (usually 0, for an absent feature). Documents with this
// code are not added up: their sum is the total minus that of the others.
#pragma once

#include <cstdint>

namespace rankgrove::forests {

class ByteSums {
 public:
  // Whether this processor can; CodeTable has the same sums for every one.
  static bool available();

  // This many codes may be written beyond the last one.
  static constexpr int64_t kPadding = 4;

  // Items of n documents, none of them 0, `total` altogether: writes the codes that there are and
  // the sum of the documents up to each, and returns how many codes there are. Reads kCodeSlack
  // bytes behind the last code.
  int32_t running(const uint8_t* codes, const uint64_t* items, int64_t n, uint8_t usual,
                  uint64_t total, int32_t* present, uint64_t* left);

 private:
  // Empty between two calls.
  alignas(32) uint64_t cells_[256] = {};
  alignas(32) uint8_t marks_[256] = {};
};

}  // namespace rankgrove::forests
