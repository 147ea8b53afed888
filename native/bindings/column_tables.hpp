// One table of several number matrices that lie side by side in the caller's memory.
#pragma once

#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "data/column_table.hpp"

namespace rankgrove {

// A read-only matrix of any numbers with any strides.
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

inline NumberType number_type(const nb::dlpack::dtype& type) {
  const auto is = [&](nb::dlpack::dtype other) { return type == other; };
  if (is(nb::dtype<float>())) return NumberType::kF32;
  if (is(nb::dtype<double>())) return NumberType::kF64;
  if (is(nb::dtype<int8_t>())) return NumberType::kI8;
  if (is(nb::dtype<int16_t>())) return NumberType::kI16;
  if (is(nb::dtype<int32_t>())) return NumberType::kI32;
  if (is(nb::dtype<int64_t>())) return NumberType::kI64;
  if (is(nb::dtype<uint8_t>()) || is(nb::dtype<bool>())) return NumberType::kU8;
  if (is(nb::dtype<uint16_t>())) return NumberType::kU16;
  if (is(nb::dtype<uint32_t>())) return NumberType::kU32;
  if (is(nb::dtype<uint64_t>())) return NumberType::kU64;
  throw std::invalid_argument("X has a type that is not read");
}

inline ColumnTable column_table(const std::vector<AnyMatrix>& parts, int64_t n_rows) {
  ColumnTable table{{}, n_rows};
  for (const AnyMatrix& part : parts) {
    require(static_cast<int64_t>(part.shape(0)) == n_rows,
            "a part of X has " + std::to_string(part.shape(0)) + " rows instead of " +
                std::to_string(n_rows));
    require(part.shape(1) < (1u << 31) - table.columns.size(), "X has too many columns");
    const NumberType type = number_type(part.dtype());
    const auto* data = static_cast<const char*>(part.data());
    const int64_t step = part.stride(1) * static_cast<int64_t>(part.itemsize());
    for (size_t j = 0; j < part.shape(1); ++j) {
      table.columns.push_back({data + static_cast<int64_t>(j) * step, part.stride(0), type});
    }
  }
  return table;
}

}  // namespace rankgrove
