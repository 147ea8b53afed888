// The loop over queries that every list objective shares: "one query in, gradients out".
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/parallel.hpp"

namespace rankgrove {

// Documents of query q are rows [offsets[q], offsets[q + 1]).
struct Queries {
  const int64_t* offsets;
  int64_t count;

  int64_t size(int64_t q) const { return offsets[q + 1] - offsets[q]; }
  int64_t longest() const {
    int64_t result = 0;
    for (int64_t q = 0; q < count; ++q) result = std::max(result, size(q));
    return result;
  }
};

// Calls body(query, scratch) for every query, in dynamic chunks; each thread has one scratch, made
// by make_scratch(). A body writes only to its query's rows, so results do not depend on n_threads.
template <typename MakeScratch, typename Body>
void for_each_query(const Queries& queries, int n_threads, MakeScratch&& make_scratch,
                    Body&& body) {
  constexpr int64_t kChunk = 16;
  const int threads = static_cast<int>(
      std::clamp<int64_t>((queries.count + kChunk - 1) / kChunk, 1, std::max(n_threads, 1)));
  std::vector<std::invoke_result_t<MakeScratch>> scratches;
  for (int thread = 0; thread < threads; ++thread) scratches.push_back(make_scratch());
  ExceptionCarrier carrier;
#pragma omp parallel for schedule(dynamic, kChunk) num_threads(threads)
  for (int64_t q = 0; q < queries.count; ++q) {
    if (!carrier.failed()) carrier.run([&] { body(q, scratches[omp_get_thread_num()]); });
  }
  carrier.rethrow();
}

}  // namespace rankgrove
