#include <algorithm>

#include "metrics/metric_families.hpp"

namespace rankgrove {

namespace {

// Expected products of 1 - value over random subsets: result[j] is the mean, over all j-subsets of
// the m documents, of the product of their (1 - value), for j = 0 .. size. Adding a document to
// m - 1 others keeps a subset without it with probability (m - j) / m, so all steps are convex
// combinations and nothing cancels.
void mean_subset_products(const double* values, int64_t m, int64_t size,
                          std::vector<double>& result) {
  result.assign(size + 1, 0.0);
  result[0] = 1.0;
  for (int64_t seen = 1; seen <= m; ++seen) {
    const double pass = 1.0 - values[seen - 1];
    const double total = static_cast<double>(seen);
    for (int64_t j = std::min(seen, size); j > 0; --j) {
      const double with = static_cast<double>(j) / total;
      result[j] = (1.0 - with) * result[j] + with * pass * result[j - 1];
    }
  }
}

}  // namespace

double ExpectedReciprocalRank::list_value(int64_t, const double* values, int64_t depth) const {
  double sum = 0.0;
  double reaches = 1.0;  // probability that the user looks at this rank
  for (int64_t rank = 0; rank < depth; ++rank) {
    if (values[rank] > 0) {
      sum += reaches * values[rank] / static_cast<double>(rank + 1);
      reaches *= 1.0 - values[rank];
    }
  }
  return sum;
}

double ExpectedReciprocalRank::expected_value(int64_t, const RankedQuery& ranked,
                                              std::vector<double>& values, int64_t depth) const {
  double sum = 0.0;
  double reaches = 1.0;
  std::vector<double> passes;
  for (int64_t begin = 0, end = 0; begin < depth && reaches > 0; begin = end) {
    end = ranked.block_end(begin);
    const double* block = values.data() + begin;
    const int64_t m = end - begin;
    const bool all_zero = std::all_of(block, block + m, [](double w) { return w == 0; });
    if (all_zero) continue;
    // Ranks deep in a long block hardly matter: more of them are computed only while they do.
    const int64_t wanted = std::min(end, depth) - begin;
    int64_t size = std::min<int64_t>(wanted, 256);
    mean_subset_products(block, m, size, passes);
    while (size < wanted && passes[size] > 1e-17) {
      size = std::min(wanted, 4 * size);
      mean_subset_products(block, m, size, passes);
    }
    for (int64_t j = 0; j < size; ++j) {
      sum += reaches * (passes[j] - passes[j + 1]) / static_cast<double>(begin + j + 1);
    }
    for (int64_t i = 0; i < m; ++i) reaches *= 1.0 - block[i];
  }
  return sum;
}

}  // namespace rankgrove
