#include "data/letor_rows.hpp"

#include <cstring>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Number of the last feature of the row text [begin, end), or -1. Features must come in increasing
// order, so it is the largest one; rows that break this are refused when they are parsed.
int64_t last_feature(const char* begin, const char* end) {
  if (const void* comment = std::memchr(begin, '#', static_cast<size_t>(end - begin))) {
    end = static_cast<const char*>(comment);
  }
  while (end != begin && (is_blank(end[-1]) || end[-1] == '\r')) --end;
  const char* colon = end;
  while (colon != begin && colon[-1] != ':' && !is_blank(colon[-1])) --colon;
  if (colon == begin || colon[-1] != ':') return -1;
  const char* p = --colon;
  while (p != begin && p[-1] >= '0' && p[-1] <= '9') --p;
  if (p == colon || p == begin || !is_blank(p[-1])) return -1;
  int64_t number = 0;
  for (; p != colon; ++p) {
    number = number * 10 + (*p - '0');
    if (number > kMaxFeatureNumber) return -1;
  }
  return number;
}

}  // namespace

void LetorRows::clear_results() {
  status = RowsStatus::kDone;
  error = {};
  comments.clear();
  comment_lengths.clear();
  columns.clear();
  values.clear();
  row_lengths.clear();
  text_id_places.clear();
  text_ids.clear();
}

void count_rows(LetorRows& rows) {
  for (const char* line = rows.begin; line < rows.end;) {
    const auto* newline =
        static_cast<const char*>(std::memchr(line, '\n', static_cast<size_t>(rows.end - line)));
    const char* p = line;
    while (is_blank(*p)) ++p;
    if (*p != '\n' && *p != '#' && !(*p == '\r' && p[1] == '\n')) {
      ++rows.n_rows;
      const int64_t feature = last_feature(p, newline);
      if (feature > rows.max_feature) rows.max_feature = feature;
    }
    ++rows.n_lines;
    line = newline + 1;
  }
}

void parse_rows(const LetorLayout& layout, LetorRows& rows) {
#if RANKGROVE_X86
  if (layout.vectorised && __builtin_cpu_supports("avx2")) return parse_rows_avx2(layout, rows);
#endif
  parse_rows_plain(layout, rows);
}

}  // namespace rankgrove
