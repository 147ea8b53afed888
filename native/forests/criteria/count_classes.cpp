#include "forests/criteria/count_classes.hpp"

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

// This many ones fit a byte: a vector register counts in all of its bytes.
constexpr int64_t kBlock = 255;

}  // namespace

RANKGROVE_SIMD void count_classes(const uint8_t* labels, int64_t n, int32_t n_classes,
                                  uint32_t* counts) {
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    for (int32_t c = 0; c < n_classes; ++c) {
      uint8_t sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += labels[i] == c;
      counts[c] += sum;
    }
  }
}

RANKGROVE_SIMD void count_left_classes(const uint8_t* codes, const uint8_t* labels, int64_t n,
                                       int32_t bin, int32_t n_classes, uint32_t* counts) {
  const auto last = static_cast<uint8_t>(bin);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    for (int32_t c = 0; c < n_classes; ++c) {
      const auto label = static_cast<uint8_t>(c);
      uint8_t sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        sum += static_cast<uint8_t>(codes[i] <= last) & static_cast<uint8_t>(labels[i] == label);
      }
      counts[c] += sum;
    }
  }
}

}  // namespace rankgrove::forests
