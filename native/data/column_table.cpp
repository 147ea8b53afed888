#include "data/column_table.hpp"

namespace rankgrove {
namespace {

template <typename T>
void read_as(const TableColumn& column, int64_t first, const int64_t* rows, int64_t n, float* out) {
  const T* data = static_cast<const T*>(column.data);
  if (rows == nullptr) {
    data += first * column.stride;
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(data[i * column.stride]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(data[rows[i] * column.stride]);
  }
}

}  // namespace

void TableColumn::read(int64_t first, const int64_t* rows, int64_t n, float* out) const {
  switch (type) {
    case NumberType::kF32:
      return read_as<float>(*this, first, rows, n, out);
    case NumberType::kF64:
      return read_as<double>(*this, first, rows, n, out);
    case NumberType::kI8:
      return read_as<int8_t>(*this, first, rows, n, out);
    case NumberType::kI16:
      return read_as<int16_t>(*this, first, rows, n, out);
    case NumberType::kI32:
      return read_as<int32_t>(*this, first, rows, n, out);
    case NumberType::kI64:
      return read_as<int64_t>(*this, first, rows, n, out);
    case NumberType::kU8:
      return read_as<uint8_t>(*this, first, rows, n, out);
    case NumberType::kU16:
      return read_as<uint16_t>(*this, first, rows, n, out);
    case NumberType::kU32:
      return read_as<uint32_t>(*this, first, rows, n, out);
    case NumberType::kU64:
      return read_as<uint64_t>(*this, first, rows, n, out);
  }
}

}  // namespace rankgrove
