// LETOR / svmlight text to arrays, in memory that never exceeds the arrays by much.
//
// Life of a reader: it is made with options; `feed` is called with consecutive pieces of text, each
// as large as the caller likes, and says how much of it was used (whole lines; give the rest
// again, with more text behind it); after the last piece the arrays are taken out. Inside a piece
// the lines are divided among threads: one look counts rows, so that each knows its place, a second
// look parses them there. Results do not depend on the pieces or on the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/growable_buffer.hpp"
#include "data/letor_rows.hpp"

namespace rankgrove {

struct LetorOptions {
  int64_t n_features = -1;     // -1: as many as the text mentions
  int64_t first_feature = -1;  // 0 or 1; -1: 0 if feature number 0 occurs, else 1
  bool with_ids = true;
  bool with_features = true;  // otherwise they are skipped unread, and the matrix has no columns
  bool sparse = false;        // keep the entries that rows mention alone
  bool keep_comments = true;
  bool negative_labels = false;
  bool absent_is_nan = false;
  bool vectorised = true;
  int64_t max_bytes = INT64_MAX;  // of the feature matrix
};

// Where reading stopped: line and column count from 1, or are 0 if no line is to blame.
struct LetorProblem {
  int64_t line = 0;
  int64_t column = 0;
  std::string message;
  std::string text;
};

class LetorReader {
 public:
  explicit LetorReader(const LetorOptions& options);

  // Reads whole lines of `text` and returns the number of bytes used, or -1 if problem() says why
  // not. `last`: no text follows, so the last line needs no newline.
  int64_t feed(std::string_view text, bool last, int n_threads);
  // Starts to count lines: this many precede the next piece.
  void start_after(int64_t n_lines) { n_lines_ = n_lines; }

  const LetorProblem& problem() const { return problem_; }
  int64_t n_lines() const { return n_lines_; }
  int64_t n_rows() const { return n_rows_; }
  int64_t n_columns() const { return n_columns_; }
  bool sparse() const { return options_.sparse; }
  int64_t n_entries() const { return n_entries_; }
  int64_t first_feature() const { return layout_.first_feature; }
  bool ids_are_text() const { return layout_.ids_as_text; }
  bool has_comments() const { return has_comments_; }
  const std::vector<std::string>& text_ids() const { return text_ids_; }
  int64_t n_comment_bytes() const { return n_comment_bytes_; }

  // Each hands one array over; then the reader is spent.
  MemoryBlock take_values();
  // The same of a sparse matrix: where rows start (n_rows + 1), and columns and values of entries.
  MemoryBlock take_row_starts() { return row_starts_.release(n_rows_ + 1); }
  MemoryBlock take_entry_columns() { return entry_columns_.release(n_entries_); }
  MemoryBlock take_entry_values() { return entry_values_.release(n_entries_); }
  MemoryBlock take_labels() { return labels_.release(n_rows_); }
  MemoryBlock take_ids() { return ids_.release(n_rows_); }
  MemoryBlock take_comment_ends() { return comment_ends_.release(n_rows_); }
  MemoryBlock take_comment_flags() { return comment_flags_.release(n_rows_); }
  MemoryBlock take_comments() { return comments_.release(n_comment_bytes_); }
  bool spent() const { return spent_; }
  void set_spent() { spent_ = true; }

 private:
  void divide(std::string_view text, std::string& tail, std::vector<LetorRows>& parts) const;
  bool make_room(int64_t n_rows, int64_t n_columns);
  bool check_size(int64_t n_rows, int64_t n_columns);
  bool check_sparse_size(int64_t n_rows);
  bool start_at_zero();
  void widen(int64_t n_columns, int64_t shift);
  void expect_numbers();
  void switch_to_text_ids();
  void merge_text_ids(std::vector<LetorRows>& parts, int n_threads);
  void append_entries(const std::vector<LetorRows>& parts, int64_t n_rows);
  void append_comments(const std::vector<LetorRows>& parts, int64_t n_rows);
  int64_t fail_at(const std::vector<LetorRows>& parts, size_t part);
  int64_t text_id_place(std::string_view text);

  LetorOptions options_;
  LetorLayout layout_;
  LetorProblem problem_;
  int64_t n_lines_ = 0;
  int64_t n_text_bytes_ = 0;  // of this piece and those before
  int64_t n_rows_ = 0;
  int64_t n_columns_ = 0;
  int64_t max_feature_ = -1;
  GrowableBuffer<float> values_;
  int64_t n_entries_ = 0;  // of a sparse matrix
  GrowableBuffer<int64_t> row_starts_;
  GrowableBuffer<int32_t> entry_columns_;
  GrowableBuffer<float> entry_values_;
  GrowableBuffer<double> labels_;
  GrowableBuffer<int64_t> ids_;
  std::vector<std::string> text_ids_;
  std::unordered_map<std::string, int64_t> text_id_places_;
  bool has_comments_ = false;
  bool spent_ = false;
  int64_t n_comment_bytes_ = 0;
  GrowableBuffer<int64_t> comment_ends_;
  GrowableBuffer<uint8_t> comment_flags_;
  GrowableBuffer<char> comments_;
};

}  // namespace rankgrove
