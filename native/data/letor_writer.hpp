// Arrays to LETOR text: the shortest decimal text that reads back to the same float.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankgrove {

// Texts laid end to end: text i is bytes [offsets[i], offsets[i + 1]).
struct PackedTexts {
  const int64_t* offsets = nullptr;
  const char* bytes = nullptr;
};

enum class Omission { kNothing, kZeros, kMissing };

struct LetorTable {
  const float* values =
      nullptr;  // element (row, column) at row * row_stride + column * column_stride
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  int64_t n_columns = 0;
  const double* labels = nullptr;
  const int64_t* query = nullptr;  // place of each row's query in `ids`
  PackedTexts ids;
  const uint8_t* has_comment = nullptr;  // nullptr: no row has one
  PackedTexts comments;
  int64_t first_feature = 1;
  Omission omission = Omission::kNothing;
};

// Text of rows [begin, end), in pieces to be written one after the other. If features are omitted,
// row 0 still shows the last one, so that the number of features can be read back.
std::vector<std::string> format_letor(const LetorTable& table, int64_t begin, int64_t end,
                                      int n_threads);

}  // namespace rankgrove
