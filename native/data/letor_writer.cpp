#include "data/letor_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kRowsPerPiece = 256;
constexpr double kNanosecondsPerNumber = 20.0;
constexpr size_t kNumberBytes = 32;  // more than any float or double needs

// Writes a number and returns the end. Whole numbers, the most frequent, take a shorter way.
template <typename T>
char* write_number(char* out, T value) {
  if (std::isnan(value)) {  // its sign and payload mean nothing here
    std::memcpy(out, "nan", 3);
    return out + 3;
  }
  if (std::abs(value) < T{1e6} && !(value == 0 && std::signbit(value))) {
    const auto whole = static_cast<int32_t>(value);
    if (static_cast<T>(whole) == value) return std::to_chars(out, out + kNumberBytes, whole).ptr;
  }
  return std::to_chars(out, out + kNumberBytes, value).ptr;
}

void append(std::string& text, const PackedTexts& texts, int64_t i) {
  text.append(texts.bytes + texts.offsets[i], size_t(texts.offsets[i + 1] - texts.offsets[i]));
}

bool is_omitted(float value, Omission omission) {
  if (omission == Omission::kZeros) return value == 0 && !std::signbit(value);
  return omission == Omission::kMissing && std::isnan(value);
}

void append_row(std::string& text, const LetorTable& table, const std::vector<std::string>& prefix,
                int64_t row) {
  char number[kNumberBytes];
  text.append(number, write_number(number, table.labels[row]));
  text += " qid:";
  append(text, table.ids, table.query[row]);
  const float* value = table.values + row * table.row_stride;
  for (int64_t column = 0; column < table.n_columns; ++column, value += table.column_stride) {
    const bool shows_width = row == 0 && column == table.n_columns - 1;
    if (is_omitted(*value, table.omission) && !shows_width) continue;
    text += prefix[size_t(column)];
    text.append(number, write_number(number, *value));
  }
  if (table.has_comment != nullptr && table.has_comment[row]) {
    text += " #";
    append(text, table.comments, row);
  }
  text += '\n';
}

}  // namespace

std::vector<std::string> format_letor(const LetorTable& table, int64_t begin, int64_t end,
                                      int n_threads) {
  std::vector<std::string> prefix;
  for (int64_t column = 0; column < table.n_columns; ++column) {
    std::string& text = prefix.emplace_back(1, ' ');
    text += std::to_string(column + table.first_feature);
    text += ':';
  }
  const int64_t n_pieces = (end - begin + kRowsPerPiece - 1) / kRowsPerPiece;
  std::vector<std::string> pieces(static_cast<size_t>(n_pieces));
  const double cost =
      kNanosecondsPerNumber * kRowsPerPiece * static_cast<double>(table.n_columns + 1);
  parallel_for(n_pieces, n_threads, cost, [&](int64_t i) {
    const int64_t first = begin + i * kRowsPerPiece;
    for (int64_t row = first; row < std::min(first + kRowsPerPiece, end); ++row) {
      append_row(pieces[size_t(i)], table, prefix, row);
    }
  });
  return pieces;
}

}  // namespace rankgrove
