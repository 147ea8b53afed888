// A matrix in the caller's memory, column by column: numbers of any type with any stride, which are
// read as float32.
#pragma once

#include <cstdint>
#include <vector>

namespace rankgrove {

enum class NumberType { kF32, kF64, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64 };

struct TableColumn {
  const void* data;
  int64_t stride;  // in numbers
  NumberType type;

  // Writes the numbers of n rows, from `first` on or those of `rows`, each rounded to float32.
  void read(int64_t first, const int64_t* rows, int64_t n, float* out) const;
};

struct ColumnTable {
  std::vector<TableColumn> columns;
  int64_t n_rows = 0;

  int32_t n_features() const { return static_cast<int32_t>(columns.size()); }
};

// Rows of a table in some order.
struct TableRows {
  const int64_t* numbers = nullptr;  // null: the first n
  int64_t n = 0;
};

}  // namespace rankgrove
