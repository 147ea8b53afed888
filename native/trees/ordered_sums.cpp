#include "trees/ordered_sums.hpp"

namespace rankgrove {

std::vector<int64_t> ordered_sums(const CodedQueries& queries, std::span<const int64_t> order,
                                  int64_t first, int64_t last) {
  struct Known {
    int64_t sum = 0, count = 0;
  };
  std::vector<Known> known(queries.n_codes);
  const int64_t start = queries.offsets[first];
  const int64_t n = queries.offsets[last] - start;
  std::vector<int64_t> result(2 * n, 0);
  for (const int64_t query : order) {
    const int64_t begin = queries.offsets[query], end = queries.offsets[query + 1];
    if (query >= first && query < last) {
      for (int64_t row = begin; row < end; ++row) {
        const int32_t code = queries.codes[row];
        if (code < 0) continue;
        result[row - start] = known[code].sum;
        result[n + row - start] = known[code].count;
      }
    }
    for (int64_t row = begin; row < end; ++row) {
      const int32_t code = queries.codes[row];
      if (code < 0) continue;
      known[code].sum += queries.values[row];
      ++known[code].count;
    }
  }
  return result;
}

}  // namespace rankgrove
