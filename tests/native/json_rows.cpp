#include "data/json_rows.hpp"

#include <memory>
#include <string>

#include "check.hpp"
#include "common/random.hpp"

namespace {

const std::string whole = R"({"columns": ["a\\", "b"], "rows": [[1.5, null], [-2e-1, 3]], "y": 1})";

// Reads text from a buffer of exactly its size, so that sanitizers see a read past its end.
// Returns whether the rows are valid.
bool read(const std::string& text, rankgrove::JsonRows& found, int64_t max_rows = 100) {
  const auto exact = std::make_unique<char[]>(text.size());
  text.copy(exact.get(), text.size());
  return rankgrove::read_json_rows(std::string_view(exact.get(), text.size()), max_rows, found) &&
         found.problem == rankgrove::JsonProblem::kNone;
}

}  // namespace

CASE("JSON rows are read") {
  rankgrove::JsonRows found;
  CHECK(read(R"({"qid": "a]\"", "rows": [[1, -2.5e3 , null],[0.1,123456789012345678,7]], "x": {}})",
             found));
  CHECK(found.n_rows == 2);
  CHECK(found.n_columns == 3);
  CHECK(found.values[1] == -2500.0);
  CHECK(found.values[2] != found.values[2]);
  CHECK(found.values[3] == 0.1);
  CHECK(found.values[4] == 123456789012345678.0);
  CHECK(found.rest == R"({"qid": "a]\"", "rows":[], "x": {}})");
}

CASE("more JSON rows than allowed are refused") {
  rankgrove::JsonRows two, one;
  CHECK(read(whole, two, 2));
  CHECK(!read(whole, one, 1));
  CHECK(one.problem == rankgrove::JsonProblem::kTooManyRows);
}

CASE("JSON rows that are cut off are refused") {
  for (size_t length = 0; length < whole.size(); ++length) {
    rankgrove::JsonRows found;
    CHECK(!read(whole.substr(0, length), found));
  }
}

CASE("reading JSON rows stays within any text") {
  const std::string marks = "[]{}\",:\\0-.e9nul \n";
  rankgrove::Random random(7);
  for (int turn = 0; turn < 20000; ++turn) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) {
      text[random.below(text.size())] = marks[random.below(marks.size())];
    }
    rankgrove::JsonRows found;
    if (read(text, found)) CHECK(found.values.size() == size_t(found.n_rows * found.n_columns));
  }
}
