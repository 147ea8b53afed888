// Counts documents by class, many at a time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rankgrove::forests {

// Up to this many classes, a pass over the documents per class is faster than one for all.
inline constexpr int32_t kFewClasses = 8;

// counts[c] += number of documents of class c, for c < n_classes.
void count_classes(const uint8_t* labels, int64_t n, int32_t n_classes, uint32_t* counts);

// The same for the documents whose code is at most `bin` alone.
void count_left_classes(const uint8_t* codes, const uint8_t* labels, int64_t n, int32_t bin,
                        int32_t n_classes, uint32_t* counts);

}  // namespace rankgrove::forests
