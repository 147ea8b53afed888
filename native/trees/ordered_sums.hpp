// Sums over the queries that come before a document's own, in an order of the queries.
//
// Ordered target statistics of a categorical column need, for each document, the sum and the number
// of the documents with the same category in earlier queries. One pass over the queries in their
// order is enough: a table holds both for every category, and a query is added to it after its
// documents have read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rankgrove {

// Documents of queries 0, 1, ...: those of query q are offsets[q] .. offsets[q + 1] - 1.
struct CodedQueries {
  std::span<const int32_t> codes;  // category of each document; negative: none
  std::span<const int64_t> values;
  std::span<const int64_t> offsets;
  int32_t n_codes;
};

// The sums for the documents of the queries first .. last - 1, and after them the counts; both are
// 0 for documents without a category. `order` holds the numbers of the queries as they come.
std::vector<int64_t> ordered_sums(const CodedQueries& queries, std::span<const int64_t> order,
                                  int64_t first, int64_t last);

}  // namespace rankgrove
