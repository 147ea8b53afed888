// The loop over queries that every list objective shares: "one query in, gradients out".
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/parallel.hpp"

namespace rankgrove {

// Documents of query q are rows [offsets[q], offsets[q + 1]).
struct Queries {
  const int64_t* offsets;
  int64_t count;
  int64_t first_number = 0;  // of the first query among those of all workers

  // The number of query q among those of all workers: what random numbers are drawn by.
  uint64_t number(int64_t q) const { return static_cast<uint64_t>(first_number + q); }
  int64_t size(int64_t q) const { return offsets[q + 1] - offsets[q]; }
  double mean_size() const {
    return static_cast<double>(offsets[count] - offsets[0]) /
           static_cast<double>(std::max<int64_t>(count, 1));
  }
  int64_t longest() const {
    int64_t result = 0;
    for (int64_t q = 0; q < count; ++q) result = std::max(result, size(q));
    return result;
  }
};

// Calls body(query, scratch) for every query; each thread has one scratch, made by make_scratch().
// A body writes only to its query's rows, so results do not depend on n_threads. `nanoseconds` is
// about the cost of a document.
template <typename MakeScratch, typename Body>
void for_each_query(const Queries& queries, int n_threads, double nanoseconds,
                    MakeScratch&& make_scratch, Body&& body) {
  parallel_for(queries.count, n_threads, nanoseconds * queries.mean_size(), make_scratch, body);
}

}  // namespace rankgrove
