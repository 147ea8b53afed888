#include "data/json_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>

#include "data/short_decimal.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kExactDigits = 15;  // integers of so many digits are exact doubles
constexpr size_t kMostKeys = 16;

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

  // A string without escapes.
  bool take_plain_string(std::string_view& text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    while (at_ < end_ && *at_ != '"' && *at_ != '\\') ++at_;
    if (at_ == end_ || *at_ == '\\') return false;
    text = std::string_view(begin, static_cast<size_t>(at_ - begin));
    ++at_;
    return true;
  }

  // Anything up to the comma or bracket that ends it, which is not taken.
  bool skip_value() {
    int64_t depth = 0;
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
      }
    }
    return false;
  }

  // null (NaN), or a number that is finite and not too small for a double.
  bool take_value(double& value) {
    skip_space();
    if (end_ - at_ >= 4 && std::memcmp(at_, "null", 4) == 0) {
      at_ += 4;
      value = std::numeric_limits<double>::quiet_NaN();
      return true;
    }
    return take_number(value);
  }

 private:
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
    return error == std::errc() && stop == p;
  }

  const char* at_;
  const char* const end_;
};

bool read_row(JsonText& text, std::vector<double>& values) {
  if (!text.take('[')) return false;
  do {
    double value;
    if (!text.take_value(value)) return false;
    values.push_back(value);
  } while (text.take(','));
  return text.take(']');
}

bool read_rows(JsonText& text, JsonRows& found) {
  if (!text.take('[')) return false;
  do {
    const size_t before = found.values.size();
    if (!read_row(text, found.values)) return false;
    const auto n_columns = static_cast<int64_t>(found.values.size() - before);
    if (found.n_rows > 0 && n_columns != found.n_columns) return false;
    found.n_columns = n_columns;
    ++found.n_rows;
  } while (text.take(','));
  return text.take(']');
}

}  // namespace

bool read_json_rows(std::string_view body, JsonRows& found) {
  JsonText text(body);
  std::vector<std::string_view> keys;
  if (!text.take('{')) return false;
  do {
    std::string_view key;
    if (!text.take_plain_string(key) || !text.take(':')) return false;
    if (keys.size() == kMostKeys || std::count(keys.begin(), keys.end(), key) > 0) return false;
    keys.push_back(key);
    if (key != "rows") {
      if (!text.skip_value()) return false;
      continue;
    }
    const auto begin = static_cast<size_t>(text.at() - body.data());
    if (!read_rows(text, found)) return false;
    const auto end = static_cast<size_t>(text.at() - body.data());
    found.rest.append(body.substr(0, begin)).append("[]").append(body.substr(end));
  } while (text.take(','));
  return found.n_rows > 0 && text.take('}');
}

}  // namespace rankgrove
