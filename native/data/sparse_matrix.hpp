// A sparse matrix in the caller's memory (CSR); all entries that are not stored have the same
// value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rankgrove {

template <typename T>
struct SparseMatrix {
  const int64_t* starts;   // of each row's entries, n_rows + 1
  const int32_t* columns;  // of the entries, ascending within a row
  const T* values;
  int64_t n_rows;
  int32_t n_features;
  T absent;  // value of the entries that are not stored: 0 or NaN
};

using SparseView = SparseMatrix<float>;

enum class RowOrder { kAscending, kMixed };  // kMixed: a row repeats columns or has them mixed up

// Finds out how columns lie in their rows. Throws std::invalid_argument if they are not rows of
// columns at all: starts that fall or leave the entries, columns that are not there.
RowOrder check_rows(const int64_t* starts, int64_t n_rows, const int32_t* columns,
                    int64_t n_entries, int32_t n_features, int n_threads);

// Writes rows begin..end, one after the other, with `n_places` values each: the value of column c
// goes to places[c], or nowhere if that is -1 (to c if `places` is null).
template <typename T>
void write_dense(const SparseMatrix<T>& x, int64_t begin, int64_t end, const int32_t* places,
                 int64_t n_places, int n_threads, T* out);

}  // namespace rankgrove
