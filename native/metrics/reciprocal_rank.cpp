#include <algorithm>

#include "metrics/metric_families.hpp"

namespace rankgrove {

double ReciprocalRank::list_value(int64_t, const double* values, int64_t depth) const {
  for (int64_t rank = 0; rank < depth; ++rank) {
    if (values[rank] > 0) return 1.0 / static_cast<double>(rank + 1);
  }
  return 0.0;
}

double ReciprocalRank::expected_value(int64_t, const RankedQuery& ranked,
                                      std::vector<double>& values, int64_t depth) const {
  for (int64_t begin = 0, end = 0; begin < depth; begin = end) {
    end = ranked.block_end(begin);
    double relevant = 0.0;
    for (int64_t rank = begin; rank < end; ++rank) relevant += values[rank];
    if (relevant == 0) continue;
    // Places are filled one by one; `none` is the probability that no relevant one came yet.
    double none = 1.0;
    double sum = 0.0;
    for (int64_t rank = begin; rank < std::min(end, depth) && none > 0; ++rank) {
      const double hit = relevant / static_cast<double>(end - rank);
      sum += none * hit / static_cast<double>(rank + 1);
      none *= 1.0 - hit;
    }
    return sum;
  }
  return 0.0;
}

}  // namespace rankgrove
