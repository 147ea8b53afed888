#include "data/json_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "data/short_decimal.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kExactDigits = 15;  // integers of so many digits are exact doubles
constexpr size_t kMostKeys = 16;
constexpr size_t kShownText = 64;
constexpr int64_t kMostEntries = 100'000;  // of columns; of query ids it is the number of rows

// Reads from `at` to `end`; functions return whether what they want stands there.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  const char* at() const { return at_; }

  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  // A character after any space.
  bool take(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  // A string; of its escapes only those of ASCII characters are resolved.
  bool take_key(std::string& key) {
    if (!take('"')) return false;
    for (; at_ < end_ && *at_ != '"'; ++at_) {
      if (*at_ == '\\' && end_ - at_ > 6 && at_[1] == 'u') {
        int code = 0;
        const auto [stop, error] = std::from_chars(at_ + 2, at_ + 6, code, 16);
        if (error != std::errc() || stop != at_ + 6) return false;
        if (code < 0x80) {
          key.push_back(static_cast<char>(code));
          at_ += 5;
          continue;
        }
      }
      key.push_back(*at_);
      if (*at_ == '\\' && ++at_ < end_) key.push_back(*at_);
    }
    return at_ < end_ && *at_++ == '"';
  }

  // The beginning of the value here, which is not taken.
  std::string shown() const {
    JsonText copy = *this;
    copy.skip_space();
    const char* const begin = copy.at_;
    int64_t ignored;
    copy.skip_value(ignored);
    const char* last = copy.at_;
    while (last > begin && (last[-1] == ' ' || last[-1] == '\n')) --last;
    return std::string(begin, std::min(static_cast<size_t>(last - begin), kShownText));
  }

  // Anything up to the comma or bracket that ends it, which is not taken; counts the commas of a
  // list.
  bool skip_value(int64_t& n_commas) {
    int64_t depth = 0;
    n_commas = 0;
    for (; at_ < end_; ++at_) {
      const char c = *at_;
      if (c == '"') {
        if (!skip_string()) return false;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ']' || c == '}')) {
        return true;
      } else if (c == ']' || c == '}') {
        --depth;
      } else if (depth == 1 && c == ',') {
        ++n_commas;
      }
    }
    return false;
  }

  // null (NaN), true (1), false (0), or a number that is finite in a double.
  bool take_value(double& value) {
    skip_space();
    value = std::numeric_limits<double>::quiet_NaN();
    if (take_word("null")) return true;
    value = 1;
    if (take_word("true")) return true;
    value = 0;
    if (take_word("false")) return true;
    return take_number(value);
  }

 private:
  bool take_word(std::string_view word) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // From the opening quote to the closing one.
  bool skip_string() {
    for (++at_; at_ < end_; ++at_) {
      if (*at_ == '"') return true;
      if (*at_ == '\\' && ++at_ == end_) return false;
    }
    return false;
  }

  // Where the digits from p on end; their number is added to `value`, right while it is small.
  const char* skip_digits(const char* p, uint64_t& value) const {
    for (; p < end_ && *p >= '0' && *p <= '9'; ++p) {
      value = value * 10 + static_cast<uint64_t>(*p - '0');
    }
    return p;
  }

  bool take_number(double& value) {
    const char* const begin = at_;
    const char* p = at_;
    const bool negative = p < end_ && *p == '-';
    p += negative;
    const char* const first = p;
    uint64_t digits = 0;
    p = skip_digits(p, digits);
    int64_t n_digits = p - first;
    if (n_digits == 0 || (n_digits > 1 && *first == '0')) return false;
    int64_t n_decimals = 0;
    if (p < end_ && *p == '.') {
      const char* const point = p;
      p = skip_digits(p + 1, digits);
      n_decimals = p - point - 1;
      if (n_decimals == 0) return false;
      n_digits += n_decimals;
    }
    const bool with_exponent = p < end_ && (*p == 'e' || *p == 'E');
    if (with_exponent) {
      ++p;
      if (p < end_ && (*p == '-' || *p == '+')) ++p;
      const char* const exponent = p;
      uint64_t ignored = 0;
      p = skip_digits(p, ignored);
      if (p == exponent) return false;
    }
    at_ = p;
    if (!with_exponent && n_digits <= kExactDigits) {
      value = static_cast<double>(digits) / kPowersOfTen[n_decimals];  // of exact ones: the nearest
      if (negative) value = -value;
      return true;
    }
    const auto [stop, error] = std::from_chars(begin, p, value);
    if (error == std::errc::result_out_of_range) {  // too small, which is 0, or too large
      value = std::strtod(std::string(begin, p).c_str(), nullptr);
      return std::isfinite(value);
    }
    return error == std::errc() && stop == p;
  }

  const char* at_;
  const char* end_;
};

// Takes the values of one row; false, with the problem noted, if it cannot.
bool read_row(JsonText& text, JsonRows& found) {
  found.column = 0;
  if (text.take(']')) return true;
  do {
    double value;
    JsonText before = text;
    if (!text.take_value(value)) {
      found.problem = JsonProblem::kNotANumber;
      found.text = before.shown();
      return false;
    }
    found.values.push_back(value);
    ++found.column;
  } while (text.take(','));
  if (text.take(']')) return true;
  found.problem = JsonProblem::kMalformedRow;
  --found.column;
  return false;
}

// Takes a list of rows; false, with the problem noted, if it cannot.
bool read_rows(JsonText& text, int64_t max_rows, JsonRows& found) {
  const JsonText begin = text;
  if (!text.take('[')) {
    found.problem = JsonProblem::kNotRows;
    found.text = begin.shown();
    return false;
  }
  if (!text.take(']')) {
    do {
      found.row = found.n_rows;
      found.problem = JsonProblem::kTooManyRows;
      if (found.n_rows == max_rows) return false;
      JsonText before = text;
      if (!text.take('[')) {
        found.problem = JsonProblem::kNotRows;
        found.text = before.shown();
        return false;
      }
      if (!read_row(text, found)) return false;
      if (found.n_rows > 0 && found.column != found.n_columns) {
        found.problem = JsonProblem::kRaggedRow;
        found.text = std::to_string(found.n_columns);
        return false;
      }
      found.n_columns = found.column;
      ++found.n_rows;
    } while (text.take(','));
    found.problem = JsonProblem::kMalformedRow;
    if (!text.take(']')) return false;
  }
  found.problem = JsonProblem::kNone;
  return true;
}

}  // namespace

bool read_json_rows(std::string_view body, int64_t max_rows, JsonRows& found) {
  JsonText text(body);
  std::vector<std::string> keys;
  if (!text.take('{')) return false;
  do {
    std::string key;
    if (!text.take_key(key) || !text.take(':')) return false;
    if (std::count(keys.begin(), keys.end(), key) > 0) {
      found.problem = JsonProblem::kRepeatedKey;
      found.text = key;
      return true;
    }
    if (keys.size() == kMostKeys) return false;
    keys.push_back(key);
    const auto begin = static_cast<size_t>(text.at() - body.data());
    JsonText whole = text;
    if (key != "rows" || !read_rows(text, max_rows, found)) {
      text = whole;
      int64_t n_commas;
      if (!text.skip_value(n_commas)) return false;
      if (key == "rows" && n_commas >= max_rows) found.problem = JsonProblem::kTooManyRows;
      if (key != "rows" && n_commas > std::max(max_rows, kMostEntries)) {
        found.problem = JsonProblem::kTooManyEntries;
        found.text = key;
        return true;
      }
    }
    if (key == "rows") {
      const auto end = static_cast<size_t>(text.at() - body.data());
      found.rest.append(body.substr(0, begin)).append("[]").append(body.substr(end));
    }
  } while (text.take(','));
  return !found.rest.empty() && text.take('}');
}

}  // namespace rankgrove
