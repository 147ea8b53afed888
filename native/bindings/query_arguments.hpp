// Argument checks that objectives over queries share.
#pragma once

#include <optional>
#include <string>

#include "bindings/bindings.hpp"
#include "objectives/queries.hpp"

namespace rankgrove {

// Offsets that start at 0, never fall and end at the number of documents.
inline Queries checked_queries(const In<int64_t>& offsets, size_t n_documents) {
  require(offsets.shape(0) >= 1, "offsets must have at least one entry");
  const int64_t* p = offsets.data();
  const auto count = static_cast<int64_t>(offsets.shape(0)) - 1;
  require(p[0] == 0, "offsets must start at 0, not " + std::to_string(p[0]));
  for (int64_t q = 0; q < count; ++q) {
    const int64_t size = p[q + 1] - p[q];
    if (size >= 0 && size < (int64_t{1} << 31)) continue;
    throw std::invalid_argument("query " + std::to_string(q) + " has " + std::to_string(size) +
                                " documents by its offsets");
  }
  require(p[count] == static_cast<int64_t>(n_documents),
          "offsets end at " + std::to_string(p[count]) + " but there are " +
              std::to_string(n_documents) + " documents");
  return {p, count};
}

template <typename Array>
void require_length(const Array& array, size_t n, const char* name) {
  require(array.shape(0) == n, std::string(name) + " has " + std::to_string(array.shape(0)) +
                                   " entries, not " + std::to_string(n));
}

inline const double* optional_data(const std::optional<In<double>>& array, size_t n,
                                   const char* name) {
  if (!array) return nullptr;
  require_length(*array, n, name);
  return array->data();
}

}  // namespace rankgrove
