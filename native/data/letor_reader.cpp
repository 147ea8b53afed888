#include "data/letor_reader.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/parallel.hpp"
#include "data/number_text.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kPartBytes = 256 * 1024;
constexpr double kNanosecondsPerByte = 1.0;  // of parsing; counting rows takes a tenth
constexpr int64_t kMaxExpected = 1 << 16;
constexpr int64_t kShownBytes = 40;
// A matrix larger than this, and larger than its text by this ratio, is probably due to a wrong
// feature number; the caller can declare the number of features.
constexpr int64_t kSuspiciousBytes = int64_t{1} << 30;
constexpr int64_t kSuspiciousRatio = 1000;

// Start of the first line that begins at or after `position`, but not after `limit`.
int64_t line_start(std::string_view text, int64_t position, int64_t limit) {
  if (position == 0) return 0;
  const auto from = static_cast<size_t>(position - 1);
  const void* newline = std::memchr(text.data() + from, '\n', static_cast<size_t>(limit) - from);
  if (newline == nullptr) return limit;
  return static_cast<const char*>(newline) - text.data() + 1;
}

}  // namespace

LetorReader::LetorReader(const LetorOptions& options) : options_(options) {
  layout_.first_feature = options.first_feature < 0 ? 1 : options.first_feature;
  layout_.zero_based_possible = options.first_feature < 0;
  layout_.with_ids = options.with_ids;
  layout_.with_features = options.with_features;
  layout_.sparse = options.sparse;
  layout_.keep_comments = options.keep_comments;
  layout_.vectorised = options.vectorised;
  layout_.negative_labels = options.negative_labels;
  layout_.absent = options.absent_is_nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  layout_.width_declared = options.n_features >= 0;
  if (options.n_features >= 0) n_columns_ = layout_.stride = options.n_features;
  if (options.sparse) {
    row_starts_.reserve(1);
    row_starts_.data()[0] = 0;
  }
  expect_numbers();
}

int64_t LetorReader::feed(std::string_view text, bool last, int n_threads) {
  problem_ = {};
  if (!last) {
    const size_t newline = text.rfind('\n');
    if (newline == std::string_view::npos) return 0;
    text = text.substr(0, newline + 1);
  }
  n_text_bytes_ += static_cast<int64_t>(text.size());
  std::string tail;
  std::vector<LetorRows> parts;
  divide(text, tail, parts);
  const auto n_parts = static_cast<int64_t>(parts.size());

  parallel_for(n_parts, n_threads, 0.1 * kNanosecondsPerByte * kPartBytes,
               [&](int64_t i) { count_rows(parts[size_t(i)]); });
  int64_t n_rows = n_rows_;
  int64_t max_feature = -1;
  for (LetorRows& part : parts) {
    part.first_row = n_rows;
    n_rows += part.n_rows;
    max_feature = std::max(max_feature, part.max_feature);
  }

  for (;;) {
    int64_t n_columns = max_feature + 1 - layout_.first_feature;
    if (options_.n_features >= 0) n_columns = options_.n_features;
    if (!options_.with_features) n_columns = 0;
    if (!make_room(n_rows, n_columns)) return -1;
    parallel_for(n_parts, n_threads, kNanosecondsPerByte * kPartBytes, [&](int64_t i) {
      parts[size_t(i)].clear_results();
      parse_rows(layout_, parts[size_t(i)]);
    });
    const auto stopped = std::find_if(parts.begin(), parts.end(), [](const LetorRows& part) {
      return part.status != RowsStatus::kDone;
    });
    if (stopped == parts.end()) break;
    if (stopped->status == RowsStatus::kError) {
      return fail_at(parts, static_cast<size_t>(stopped - parts.begin()));
    }
    if (stopped->status == RowsStatus::kNeedsTextIds) {
      switch_to_text_ids();
    } else {
      if (!start_at_zero()) return -1;
    }
  }

  if (layout_.ids_as_text) merge_text_ids(parts, n_threads);
  if (options_.sparse) append_entries(parts, n_rows);
  append_comments(parts, n_rows);
  n_rows_ = n_rows;
  max_feature_ = std::max(max_feature_, max_feature);
  for (const LetorRows& part : parts) n_lines_ += part.n_lines;
  return static_cast<int64_t>(text.size());
}

// Cuts the text into parts of whole lines. The last lines move to `tail`, where there is memory
// to look ahead into and a newline at the end.
void LetorReader::divide(std::string_view text, std::string& tail,
                         std::vector<LetorRows>& parts) const {
  const auto size = static_cast<int64_t>(text.size());
  int64_t body = 0;
  if (size > kLookAhead) {
    const size_t newline = text.rfind('\n', static_cast<size_t>(size - kLookAhead));
    body = newline == std::string_view::npos ? 0 : static_cast<int64_t>(newline) + 1;
  }
  for (int64_t begin = 0; begin < body;) {
    const int64_t end = line_start(text, std::min(begin + kPartBytes, body), body);
    LetorRows& part = parts.emplace_back();
    part.begin = text.data() + begin;
    part.end = text.data() + end;
    begin = end;
  }
  if (body == size) return;
  tail.assign(text.substr(static_cast<size_t>(body)));
  if (tail.back() != '\n') tail.push_back('\n');
  const size_t tail_size = tail.size();
  tail.append(static_cast<size_t>(kLookAhead), '\0');
  LetorRows& part = parts.emplace_back();
  part.begin = tail.data();
  part.end = tail.data() + tail_size;
}

bool LetorReader::make_room(int64_t n_rows, int64_t n_columns) {
  n_columns = std::max(n_columns, n_columns_);
  if (!check_size(n_rows, n_columns)) return false;
  if (n_columns > n_columns_) {
    widen(n_columns, 0);
    expect_numbers();
  }
  if (!options_.sparse) values_.reserve(n_rows * layout_.stride);
  labels_.reserve(n_rows);
  ids_.reserve(n_rows);
  layout_.values = values_.data();
  layout_.labels = labels_.data();
  layout_.ids = ids_.data();
  layout_.n_columns = n_columns_;
  return true;
}

bool LetorReader::check_size(int64_t n_rows, int64_t n_columns) {
  if (options_.sparse) return check_sparse_size(n_rows);
  const auto row_bytes = static_cast<__int128>(n_columns) * static_cast<int>(sizeof(float)) +
                         static_cast<int>(sizeof(double) + sizeof(int64_t));
  const auto bytes = n_rows * row_bytes + n_comment_bytes_;
  const bool declared = options_.n_features >= 0;
  const bool suspicious =
      !declared && bytes > kSuspiciousBytes &&
      bytes > static_cast<__int128>(kSuspiciousRatio) * std::max<int64_t>(n_text_bytes_, 1);
  if (bytes <= options_.max_bytes && !suspicious) return true;
  problem_.message = std::to_string(n_rows) + " rows of " + std::to_string(n_columns) +
                     " features " +
                     (bytes > options_.max_bytes
                          ? "do not fit into memory"
                          : "would take " + std::to_string(static_cast<int64_t>(bytes >> 30)) +
                                " GB, but the text has " + std::to_string(n_text_bytes_) +
                                " bytes so far: is the largest feature number right? n_features=" +
                                std::to_string(n_columns) + " says so");
  return false;
}

// A sparse matrix takes what its entries take, however wide it is. Those of the next piece are not
// known yet, but pieces are small.
bool LetorReader::check_sparse_size(int64_t n_rows) {
  constexpr auto kRowBytes = static_cast<int64_t>(sizeof(double) + 2 * sizeof(int64_t));
  constexpr auto kEntryBytes = static_cast<int64_t>(sizeof(int32_t) + sizeof(float));
  const int64_t bytes = n_rows * kRowBytes + n_entries_ * kEntryBytes + n_comment_bytes_;
  if (bytes <= options_.max_bytes) return true;
  problem_.message = std::to_string(n_rows) + " rows with " + std::to_string(n_entries_) +
                     " values do not fit into memory";
  return false;
}

// Feature number 0 has been met, so every column moves up by one.
bool LetorReader::start_at_zero() {
  if (options_.n_features >= 0 && max_feature_ >= options_.n_features) {
    problem_.message = "feature numbers 0 and " + std::to_string(max_feature_) +
                       " both occur, but n_features is " + std::to_string(options_.n_features);
    return false;
  }
  layout_.zero_based_possible = false;
  layout_.first_feature = 0;
  const int64_t n_columns = options_.n_features < 0 ? n_columns_ + 1 : n_columns_;
  if (n_rows_ > 0 && n_columns > 0) widen(n_columns, 1);
  expect_numbers();
  return true;
}

// Gives the rows read so far more columns; the old ones move up by `shift`. From the second time
// on, some columns are reserved, so that text that widens slowly is not moved again and again.
void LetorReader::widen(int64_t n_columns, int64_t shift) {
  if (options_.sparse) {
    for (int64_t i = 0; i < n_entries_; ++i) {
      entry_columns_.data()[i] += static_cast<int32_t>(shift);
    }
    n_columns_ = n_columns;
    return;
  }
  const int64_t old_stride = layout_.stride;
  if (n_columns > old_stride) {
    layout_.stride = std::max(n_columns, n_rows_ == 0 ? n_columns : old_stride + old_stride / 8);
    values_.reserve(n_rows_ * layout_.stride);
  }
  float* const values = values_.data();
  const int64_t n_kept = std::min(n_columns_, n_columns - shift);
  for (int64_t row = n_rows_ - 1; row >= 0; --row) {
    float* const to = values + row * layout_.stride;
    std::memmove(to + shift, values + row * old_stride, size_t(n_kept) * sizeof(float));
    std::fill(to, to + shift, layout_.absent);
    std::fill(to + shift + n_kept, to + n_columns, layout_.absent);
  }
  n_columns_ = n_columns;
}

void LetorReader::expect_numbers() {
  if (options_.sparse) return;
  layout_.expected.clear();
  for (int64_t column = 0; column < std::min(n_columns_, kMaxExpected); ++column) {
    std::string text(1, ' ');
    text += std::to_string(column + layout_.first_feature);
    text += ':';
    ExpectedNumber number{0, 0, static_cast<int64_t>(text.size())};
    std::memcpy(&number.text, text.data(), text.size());
    std::memset(&number.mask, 0xff, text.size());
    layout_.expected.push_back(number);
  }
}

int64_t LetorReader::text_id_place(std::string_view text) {
  const auto [place, is_new] =
      text_id_places_.try_emplace(std::string(text), static_cast<int64_t>(text_ids_.size()));
  if (is_new) text_ids_.emplace_back(text);
  return place->second;
}

// The integers read so far print back to the text they were read from.
void LetorReader::switch_to_text_ids() {
  layout_.ids_as_text = true;
  int64_t* const ids = ids_.data();
  int64_t last = 0;
  int64_t last_place = -1;
  for (int64_t row = 0; row < n_rows_; ++row) {
    if (last_place < 0 || ids[row] != last) {
      last = ids[row];
      last_place = text_id_place(std::to_string(last));
    }
    ids[row] = last_place;
  }
}

void LetorReader::merge_text_ids(std::vector<LetorRows>& parts, int n_threads) {
  std::vector<std::vector<int64_t>> places(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const std::string_view text : parts[i].text_ids) {
      places[i].push_back(text_id_place(text));
    }
  }
  const double cost = 0.1 * kNanosecondsPerByte * kPartBytes;
  parallel_for(static_cast<int64_t>(parts.size()), n_threads, cost, [&](int64_t i) {
    const LetorRows& part = parts[size_t(i)];
    for (int64_t row = part.first_row; row < part.first_row + part.n_rows; ++row) {
      ids_.data()[row] = places[size_t(i)][size_t(ids_.data()[row])];
    }
  });
}

void LetorReader::append_entries(const std::vector<LetorRows>& parts, int64_t n_rows) {
  row_starts_.reserve(n_rows + 1);
  int64_t row = n_rows_;
  for (const LetorRows& part : parts) {
    const auto n = static_cast<int64_t>(part.columns.size());
    entry_columns_.reserve(n_entries_ + n);
    entry_values_.reserve(n_entries_ + n);
    std::copy(part.columns.begin(), part.columns.end(), entry_columns_.data() + n_entries_);
    std::copy(part.values.begin(), part.values.end(), entry_values_.data() + n_entries_);
    n_entries_ += n;
    for (const int32_t length : part.row_lengths) {
      row_starts_.data()[row + 1] = row_starts_.data()[row] + length;
      ++row;
    }
  }
}

void LetorReader::append_comments(const std::vector<LetorRows>& parts, int64_t n_rows) {
  const bool any = std::any_of(parts.begin(), parts.end(),
                               [](const LetorRows& part) { return !part.comment_lengths.empty(); });
  if (!any && !has_comments_) return;
  comment_ends_.reserve(n_rows);
  comment_flags_.reserve(n_rows);
  if (!has_comments_) {
    std::fill(comment_ends_.data(), comment_ends_.data() + n_rows_, 0);
    std::fill(comment_flags_.data(), comment_flags_.data() + n_rows_, uint8_t{0});
    has_comments_ = true;
  }
  for (const LetorRows& part : parts) {
    const auto n_bytes = static_cast<int64_t>(part.comments.size());
    comments_.reserve(n_comment_bytes_ + n_bytes);
    if (n_bytes > 0) {
      std::memcpy(comments_.data() + n_comment_bytes_, part.comments.data(), size_t(n_bytes));
    }
    for (int64_t i = 0; i < part.n_rows; ++i) {
      const int64_t length =
          part.comment_lengths.empty() ? -1 : part.comment_lengths[static_cast<size_t>(i)];
      n_comment_bytes_ += std::max<int64_t>(length, 0);
      comment_ends_.data()[part.first_row + i] = n_comment_bytes_;
      comment_flags_.data()[part.first_row + i] = length >= 0;
    }
  }
}

int64_t LetorReader::fail_at(const std::vector<LetorRows>& parts, size_t part) {
  const TextError& error = parts[part].error;
  int64_t line = n_lines_;
  for (size_t i = 0; i < part; ++i) line += parts[i].n_lines;
  line += 1 + std::count(parts[part].begin, error.where, '\n');
  const char* begin = error.where;
  while (begin != parts[part].begin && begin[-1] != '\n') --begin;
  const char* end = error.where;
  while (end != parts[part].end && end - error.where <= kShownBytes &&
         (end == error.where || !ends_token(*end)) && *end != '\n') {
    ++end;
  }
  problem_.line = line;
  problem_.column = error.where - begin + 1;
  problem_.message = error.message;
  problem_.text.assign(error.where, std::min(end, error.where + kShownBytes));
  if (end - error.where > kShownBytes) problem_.text += "...";
  return -1;
}

MemoryBlock LetorReader::take_values() {
  if (layout_.stride != n_columns_) {
    float* const values = values_.data();
    for (int64_t row = 1; row < n_rows_; ++row) {
      std::memmove(values + row * n_columns_, values + row * layout_.stride,
                   static_cast<size_t>(n_columns_) * sizeof(float));
    }
    layout_.stride = n_columns_;
  }
  return values_.release(n_rows_ * n_columns_);
}

}  // namespace rankgrove
