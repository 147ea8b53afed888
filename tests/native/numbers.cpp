#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "check.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"
#include "data/letor_rows.hpp"
#include "data/number_text.hpp"

namespace {

using rankgrove::NumberStatus;

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

float parsed(const std::string& text, NumberStatus wanted = NumberStatus::kOk) {
  float value = -7.0f;
  CHECK(rankgrove::parse_float(text.data(), text.data() + text.size(), value) == wanted);
  return value;
}

// The value of a row "0 qid:1 1:TEXT", read with or without vector instructions.
float read_in_a_row(const std::string& text, bool vectorised) {
  std::string line = "0 qid:1 1:" + text + "\n";
  const size_t length = line.size();
  line.append(rankgrove::kLookAhead, '\n');
  float value = -7.0f;
  double label = 0;
  int64_t id = 0;
  rankgrove::LetorLayout layout;
  layout.values = &value;
  layout.labels = &label;
  layout.ids = &id;
  layout.stride = layout.n_columns = 1;
  rankgrove::LetorRows rows;
  rows.begin = line.data();
  rows.end = line.data() + length;
  rows.n_rows = 1;
  if (vectorised) {
    rankgrove::parse_rows(layout, rows);
  } else {
    rankgrove::parse_rows_plain(layout, rows);
  }
  CHECK(rows.status == rankgrove::RowsStatus::kDone);
  return value;
}

// Decimal text of all lengths, with and without sign, point and exponent.
std::string some_number(rankgrove::Random& random) {
  std::string text = random.below(3) == 0 ? "-" : "";
  const uint64_t n_digits = 1 + random.below(19);
  const uint64_t point = random.below(2) ? random.below(n_digits) + 1 : 0;
  for (uint64_t i = 0; i < n_digits; ++i) {
    text += static_cast<char>('0' + random.below(10));
    if (i + 1 == point && i + 1 < n_digits) text += '.';
  }
  if (random.below(6) == 0) {
    text += 'e';
    text += std::to_string(int64_t(random.below(80)) - 40);
  }
  return text;
}

}  // namespace

CASE("numbers become the nearest float, as strtof has it") {
  rankgrove::Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    const std::string text = some_number(random);
    const float expected = std::strtof(text.c_str(), nullptr);
    if (std::isinf(expected)) {
      parsed(text, NumberStatus::kOverflow);
    } else {
      CHECK(same_bits(parsed(text), expected));
    }
  }
}

CASE("numbers in a row are the same with vector instructions and without") {
  rankgrove::Random random(2);
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = some_number(random);
    const float expected = std::strtof(text.c_str(), nullptr);
    if (std::isinf(expected)) continue;
    CHECK(same_bits(read_in_a_row(text, true), expected));
    CHECK(same_bits(read_in_a_row(text, false), expected));
  }
}

CASE("half-way cases round to even") {
  // 2^24 + 1 lies half-way between two floats; one digit more or less decides.
  CHECK(parsed("16777217") == 16777216.0f);
  CHECK(parsed("16777217.0000000001") == 16777218.0f);
  CHECK(parsed("16777216.9999999999") == 16777216.0f);
  CHECK(parsed("16777219") == 16777220.0f);
}

CASE("words, limits and nonsense are told apart") {
  CHECK(std::isnan(parsed("nan")));
  CHECK(std::isnan(parsed("NA")));
  CHECK(parsed("-inf") == -std::numeric_limits<float>::infinity());
  CHECK(parsed("Infinity") == std::numeric_limits<float>::infinity());
  CHECK(parsed("1e-60") == 0.0f);
  CHECK(std::signbit(parsed("-0")));
  parsed("1e39", NumberStatus::kOverflow);
  for (const char* text : {"", "-", ".", "e5", "1e", "1.2.3", "0x10", "1,5", "++1", "1 "}) {
    parsed(text, NumberStatus::kMalformed);
  }
}
