// Rows of numbers inside a JSON object, read without an object for each number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankgrove {

struct JsonRows {
  std::vector<double> values;  // row by row; null is NaN
  int64_t n_rows = 0;
  int64_t n_columns = 0;
  std::string rest;  // the text with [] in place of the rows
};

// Reads the member "rows" of a JSON object, if it is a list of rows of equal length, of finite
// numbers and null. Whatever is not as plain as that is false, a mistake in the rows and a key that
// occurs twice too, and left to a reader of all JSON, who must also look at the rest: it is not
// checked here.
bool read_json_rows(std::string_view text, JsonRows& found);

}  // namespace rankgrove
