// The parser of LETOR rows, written once and compiled for each kind of processor.
//
// `ValueReader::read(p, value)` reads the number at p and returns the character after it, or
// nullptr if the text is out of the ordinary and read_unusual_value must decide. Included by
// letor_rows_plain.cpp and letor_rows_avx2.cpp only.
#pragma once

#include <cstring>
#include <string>

#include "data/letor_rows.hpp"
#include "data/number_text.hpp"
#include "data/utf8.hpp"

namespace rankgrove {
namespace {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

inline const char* token_end(const char* p) {
  while (!ends_token(*p)) ++p;
  return p;
}

// Parses the lines of one LetorRows. Text is ended by '\n' everywhere, so no loop below can pass
// the end of its line.
template <typename ValueReader>
class RowParser {
 public:
  RowParser(const LetorLayout& layout, LetorRows& rows) : layout_(layout), rows_(rows) {}

  void run() {
    const char* p = rows_.begin;
    int64_t row = rows_.first_row;
    while (p < rows_.end) {
      p = skip_blanks(p);
      if (!at_data_end(p)) {
        p = parse_row(p, row);
        if (p == nullptr) return;
        ++row;
        p = finish_line(p, true);
      } else {
        p = finish_line(p, false);
      }
      if (p == nullptr) return;
    }
  }

 private:
  static const char* skip_blanks(const char* p) {
    while (*p == ' ' || *p == '\t') ++p;
    return p;
  }

  static bool at_data_end(const char* p) {
    return *p == '\n' || *p == '#' || (*p == '\r' && p[1] == '\n');
  }

  const char* fail(const char* where, std::string message) {
    rows_.status = RowsStatus::kError;
    rows_.error = {where, std::move(message)};
    return nullptr;
  }

  const char* restart(RowsStatus reason) {
    rows_.status = reason;
    return nullptr;
  }

  const char* parse_row(const char* p, int64_t row) {
    p = parse_label(p, layout_.labels[row]);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p);
    const bool has_id = std::memcmp(p, "qid:", 4) == 0;
    if (has_id != layout_.with_ids) {
      return fail(p, has_id ? "the text has its own qid, but queries were given beside it"
                            : "qid is missing");
    }
    if (has_id) {
      p = parse_id(p, layout_.ids[row]);
      if (p == nullptr) return nullptr;
    }
    if (!layout_.with_features) return skip_features(p);
    if (layout_.sparse) return parse_sparse_features(p);
    return parse_features(p, layout_.values + row * layout_.stride);
  }

  static const char* skip_features(const char* p) {
    while (!at_data_end(p)) ++p;
    return p;
  }

  const char* parse_label(const char* p, double& label) {
    if (is_digit(p[0]) && p[1] == ' ') {
      label = p[0] - '0';
      return p + 1;
    }
    const char* end = token_end(p);
    const NumberStatus status = parse_double(p, end, label);
    if (status == NumberStatus::kOverflow) return fail(p, "the label is too large");
    if (status == NumberStatus::kMalformed || !(label - label == 0)) {
      return fail(p, "the label is not a number");
    }
    if (label < 0 && !layout_.negative_labels) return fail(p, "the label is negative");
    return end;
  }

  const char* parse_id(const char* p, int64_t& id) {
    const char* const token = p;
    p += 4;
    const char* const begin = p;
    if (!layout_.ids_as_text) {
      const bool negative = *p == '-';
      p += negative;
      uint64_t value = 0;  // holds any 19 digits
      const char* const digits = p;
      for (; is_digit(*p) && p - digits < 19; ++p) {
        value = value * 10 + static_cast<uint64_t>(*p - '0');
      }
      // Text that would not print back the same ("007", "+7", "-0") stays text.
      const uint64_t largest = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
      if (!ends_token(*p) || p == digits || value > largest ||
          (*digits == '0' && (p - digits > 1 || negative))) {
        return restart(RowsStatus::kNeedsTextIds);
      }
      id = static_cast<int64_t>(negative ? -value : value);
      return p;
    }
    while (!ends_token(*p)) {
      if (static_cast<unsigned char>(*p) < 0x20 || *p == 0x7f) {
        return fail(token, "the qid holds a control character");
      }
      ++p;
    }
    if (p == begin) return fail(token, "the qid is empty");
    if (p - begin > kMaxQueryIdBytes) {
      return fail(token, "the qid is longer than " + std::to_string(kMaxQueryIdBytes) + " bytes");
    }
    if (!is_utf8(begin, p)) return fail(token, "the qid is not UTF-8 text");
    const std::string_view text(begin, static_cast<size_t>(p - begin));
    if (rows_.text_ids.empty() || rows_.text_ids[static_cast<size_t>(last_id_)] != text) {
      const auto [place, is_new] =
          rows_.text_id_places.try_emplace(text, static_cast<int64_t>(rows_.text_ids.size()));
      if (is_new) rows_.text_ids.push_back(text);
      last_id_ = place->second;
    }
    id = last_id_;
    return p;
  }

  // The usual row goes round the inner loop only: " 17:" where feature 17 is expected, then a short
  // number, and what follows is again as expected. That it is also proves that the number ended in
  // a blank, so it is checked only where the row is not as expected.
  const char* parse_features(const char* p, float* values) {
    const ExpectedNumber* const expected = layout_.expected.data();
    const auto n_expected = static_cast<int64_t>(layout_.expected.size());
    int64_t next = 0;  // the first column that this row has not mentioned
    const char* token = p;
    const char* number = nullptr;  // start of the last value, if it has not been checked
    for (;;) {
      while (next < n_expected && p != number) {
        uint64_t word;
        std::memcpy(&word, p, sizeof(word));
        if ((word & expected[next].mask) != expected[next].text) break;
        token = p + 1;
        number = p + expected[next].length;
        p = ValueReader::read(number, values[next]);
        ++next;
      }
      if (number != nullptr && (p == number || !ends_token(*p))) {
        p = read_unusual_value(token, number, values[next - 1]);
        if (p == nullptr) return nullptr;
        number = nullptr;
        continue;
      }
      token = skip_blanks(p);
      if (at_data_end(token)) break;
      int64_t column = next;
      number = parse_feature_number(token, next, column);
      if (number == nullptr) return nullptr;
      if (column >= layout_.n_columns) return refuse_wide_row(token, number, column);
      for (; next < column; ++next) values[next] = layout_.absent;
      p = ValueReader::read(number, values[column]);
      ++next;
    }
    for (; next < layout_.n_columns; ++next) values[next] = layout_.absent;
    return token;
  }

  const char* parse_sparse_features(const char* p) {
    const size_t before = rows_.columns.size();
    int64_t next = 0;  // the first column that may follow
    for (;;) {
      const char* const token = skip_blanks(p);
      if (at_data_end(token)) {
        rows_.row_lengths.push_back(static_cast<int32_t>(rows_.columns.size() - before));
        return token;
      }
      int64_t column = next;
      const char* const number = parse_feature_number(token, next, column);
      if (number == nullptr) return nullptr;
      if (column >= layout_.n_columns) return refuse_wide_row(token, number, column);
      float value;
      p = ValueReader::read(number, value);
      if (p == number || !ends_token(*p)) p = read_unusual_value(token, number, value);
      if (p == nullptr) return nullptr;
      rows_.columns.push_back(static_cast<int32_t>(column));
      rows_.values.push_back(value);
      next = column + 1;
    }
  }

  // Any feature number that is not the expected one. Columns before `next` are taken.
  const char* parse_feature_number(const char* token, int64_t next, int64_t& column) {
    const char* p = token;
    int64_t number = 0;
    for (; is_digit(*p); ++p) {
      if (number <= kMaxFeatureNumber) number = number * 10 + (*p - '0');
    }
    if (p == token || *p != ':') {
      if (std::memcmp(token, "qid:", 4) == 0) {
        return fail(token, "qid must be given once, directly after the label");
      }
      if (*token == '\r') return fail(token, "carriage return without newline");
      return fail(token, "expected feature:value");
    }
    if (number > kMaxFeatureNumber) {
      return fail(token, "feature numbers go up to " + std::to_string(kMaxFeatureNumber));
    }
    column = number - layout_.first_feature;
    if (column < 0) {
      if (layout_.zero_based_possible) return restart(RowsStatus::kNeedsZeroBased);
      return fail(token, "feature numbers start at " + std::to_string(layout_.first_feature));
    }
    if (column < next) {
      const int64_t previous = next - 1 + layout_.first_feature;
      return fail(token, number == previous ? "the feature is given twice"
                                            : "feature numbers must increase, but " +
                                                  std::to_string(previous) + " is before");
    }
    return p + 1;
  }

  // A feature beyond the last column is one too many if their number was declared. Otherwise the
  // row does not end with its largest feature, as it should: something behind it is wrong.
  const char* refuse_wide_row(const char* token, const char* p, int64_t column) {
    if (layout_.width_declared) {
      return fail(token, "there are " + std::to_string(layout_.n_columns) +
                             " features, the last one is number " +
                             std::to_string(layout_.n_columns - 1 + layout_.first_feature));
    }
    const char* const first = token;
    for (float value = 0;;) {
      p = read_unusual_value(token, p, value);
      if (p == nullptr) return nullptr;
      token = skip_blanks(p);
      if (at_data_end(token)) return fail(first, "expected feature:value");
      p = parse_feature_number(token, column + 1, column);
      if (p == nullptr) return nullptr;
    }
  }

  const char* read_unusual_value(const char* token, const char* p, float& value) {
    const char* end = token_end(p);
    if (p == end) return fail(token, "the value is missing");
    switch (parse_float(p, end, value)) {
      case NumberStatus::kOk:
        return end;
      case NumberStatus::kOverflow:
        return fail(token, "the value is too large for a 32-bit float");
      default:
        return fail(token, "the value is not a number");
    }
  }

  // From the end of the data of a line to the start of the next line.
  const char* finish_line(const char* p, bool is_row) {
    if (*p == '#') {
      const char* const begin = p + 1;
      const auto* newline = static_cast<const char*>(
          std::memchr(begin, '\n', static_cast<size_t>(rows_.end - begin)));
      const char* const end = newline - (newline != begin && newline[-1] == '\r');
      const auto length = static_cast<size_t>(end - begin);
      if (const void* nul = std::memchr(begin, '\0', length)) {
        return fail(static_cast<const char*>(nul), "NUL byte in a comment");
      }
      if (const void* cr = std::memchr(begin, '\r', length)) {
        return fail(static_cast<const char*>(cr), "carriage return inside a comment");
      }
      if (is_row && layout_.keep_comments) {
        if (!is_utf8(begin, end)) {
          return fail(p, "the comment is not UTF-8 text (comments=False skips comments)");
        }
        if (rows_.comment_lengths.empty()) rows_.comment_lengths.assign(size_t(rows_read_), -1);
        rows_.comment_lengths.push_back(end - begin);
        rows_.comments.append(begin, length);
      }
      rows_read_ += is_row;
      return newline + 1;
    }
    if (is_row && !rows_.comment_lengths.empty()) rows_.comment_lengths.push_back(-1);
    rows_read_ += is_row;
    return p + 1 + (*p == '\r');
  }

  const LetorLayout& layout_;
  LetorRows& rows_;
  int64_t last_id_ = 0;
  int64_t rows_read_ = 0;
};

}  // namespace
}  // namespace rankgrove
