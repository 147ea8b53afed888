// Rows of LETOR text: parsing of a run of whole lines by one thread.
//
// Vocabulary: a *line* is text up to a newline; a *row* is a line with a label (not blank, not only
// a comment); a *column* is the place of a feature in the matrix, its number in the text minus the
// first feature number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rankgrove {

constexpr int64_t kMaxFeatureNumber = 10'000'000;
constexpr int64_t kMaxQueryIdBytes = 255;
// Parsing may look this far past the end of a line, so callers keep as much memory readable there.
constexpr int64_t kLookAhead = 64;

enum class RowsStatus {
  kDone,
  kError,           // see LetorRows::error
  kNeedsTextIds,    // a query id is not a plain integer: all ids must be read as text
  kNeedsZeroBased,  // feature number 0 occurs: columns must start there
};

// Where and why a text cannot be read.
struct TextError {
  const char* where = nullptr;
  std::string message;
};

// Text of the feature number expected in each column (" 17:"), to be compared as one word.
struct ExpectedNumber {
  uint64_t text;
  uint64_t mask;
  int64_t length;
};

// How to read, and where the results go. Shared by all threads.
struct LetorLayout {
  float* values = nullptr;   // rows of `stride` values, of which `n_columns` are used
  double* labels = nullptr;  // one per row
  int64_t* ids = nullptr;    // one per row: the query id, or its place in LetorRows::text_ids
  int64_t stride = 0;
  int64_t n_columns = 0;
  int64_t first_feature = 1;
  bool width_declared = false;
  bool zero_based_possible = true;  // feature number 0 is a reason to start again, not an error
  bool with_ids = true;             // every row has a qid, or none has
  bool with_features = true;        // otherwise they are skipped unread
  bool sparse = false;              // features go to LetorRows, not to `values`
  bool ids_as_text = false;
  bool keep_comments = true;
  bool vectorised = true;  // use vector instructions if the processor has them
  bool negative_labels = false;
  float absent = 0.0f;  // value of features that a row does not mention
  std::vector<ExpectedNumber> expected;
};

// A run of whole lines [begin, end), each ended by '\n', and what was found in it.
struct LetorRows {
  const char* begin = nullptr;
  const char* end = nullptr;
  int64_t first_row = 0;

  int64_t n_lines = 0;
  int64_t n_rows = 0;
  int64_t max_feature = -1;

  RowsStatus status = RowsStatus::kDone;
  TextError error;
  std::string comments;                  // all comments, glued
  std::vector<int64_t> comment_lengths;  // one per row, -1 for none; empty if no row has one
  // If the layout is sparse: the entries of all rows, and how many each row has.
  std::vector<int32_t> columns;
  std::vector<float> values;
  std::vector<int32_t> row_lengths;
  std::unordered_map<std::string_view, int64_t> text_id_places;
  std::vector<std::string_view> text_ids;

  void clear_results();
};

// First look: counts lines and rows and finds the largest feature number of well-formed rows.
void count_rows(LetorRows& rows);

// Second look: parses every row to its place in the layout.
void parse_rows(const LetorLayout& layout, LetorRows& rows);

// Versions of parse_rows; they give the same results.
void parse_rows_plain(const LetorLayout& layout, LetorRows& rows);
void parse_rows_avx2(const LetorLayout& layout, LetorRows& rows);

}  // namespace rankgrove
