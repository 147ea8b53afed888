// Rows of numbers inside a JSON object, read without an object for each number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankgrove {

enum class JsonProblem {
  kNone,
  kRepeatedKey,     // text: a key that occurs more than once
  kTooManyEntries,  // text: a list with more entries than allowed
  kTooManyRows,     // more rows than allowed
  kNotRows,         // "rows" is not a list, or an entry of it is not: text, and the row unless -1
  kRaggedRow,       // row with `column` values, where the first has as many as `text` says
  kNotANumber,      // row, column, text: a value that is no finite number, null, true or false
  kMalformedRow,    // row, column: not JSON after that value
};

struct JsonRows {
  std::vector<double> values;  // row by row; null is NaN, true 1, false 0
  int64_t n_rows = 0;
  int64_t n_columns = 0;
  std::string rest;  // the text with [] in place of the rows

  // Too many rows, a repeated key, or else the first thing that is wrong with the rows.
  JsonProblem problem = JsonProblem::kNone;
  int64_t row = -1;
  int64_t column = -1;
  std::string text;  // the beginning of the text there
};

// Reads the member "rows" of a JSON object, or describes its first error. Returns false if the
// text is not an object of a few keys and values; a reader of all JSON then finds the mistake.
// Nothing but the rows and the keys is checked: the caller must parse the rest.
bool read_json_rows(std::string_view text, int64_t max_rows, JsonRows& found);

}  // namespace rankgrove
