// Checks of the arrays of a sparse matrix.
#pragma once

#include "bindings/bindings.hpp"
#include "data/sparse_matrix.hpp"

namespace rankgrove {

inline RowOrder checked_order(const In<int64_t>& starts, const In<int32_t>& columns,
                              int32_t n_features, int n_threads) {
  require(starts.shape(0) >= 1, "starts must have at least one entry");
  require(n_features >= 0 && n_threads >= 1, "n_features or n_threads is out of range");
  const auto n_rows = static_cast<int64_t>(starts.shape(0)) - 1;
  const auto n_entries = static_cast<int64_t>(columns.shape(0));
  const nb::gil_scoped_release unlocked;
  return check_rows(starts.data(), n_rows, columns.data(), n_entries, n_features, n_threads);
}

template <typename T>
SparseMatrix<T> checked_sparse(const In<int64_t>& starts, const In<int32_t>& columns,
                               const In<T>& values, int32_t n_features, T absent, int n_threads) {
  require(values.shape(0) == columns.shape(0), "columns and values differ in length");
  require(checked_order(starts, columns, n_features, n_threads) == RowOrder::kAscending,
          "the columns of a row must ascend");
  return {starts.data(), columns.data(), values.data(), static_cast<int64_t>(starts.shape(0)) - 1,
          n_features,    absent};
}

}  // namespace rankgrove
