#include <algorithm>

#include "metrics/metric_families.hpp"

namespace rankgrove {

AveragePrecision::AveragePrecision(std::shared_ptr<const JudgedQueries> queries,
                                   std::vector<double> grade_values, bool cut_divisor,
                                   const ListRules& rules)
    : ListMetric(std::move(queries), std::move(grade_values), rules), cut_divisor_(cut_divisor) {}

double AveragePrecision::divisor(int64_t query) const {
  const int64_t relevant = n_positive(query);
  return static_cast<double>(cut_divisor_ ? std::min(relevant, rules().k) : relevant);
}

double AveragePrecision::list_value(int64_t query, const double* values, int64_t depth) const {
  double sum = 0.0;
  double found = 0.0;
  for (int64_t rank = 0; rank < depth; ++rank) {
    if (values[rank] > 0) {
      found += 1.0;
      sum += found / static_cast<double>(rank + 1);
    }
  }
  return sum / divisor(query);
}

double AveragePrecision::expected_value(int64_t query, const RankedQuery& ranked,
                                        std::vector<double>& values, int64_t depth) const {
  // In a block of m documents, r of them relevant, a relevant document at the j-th place (from 0)
  // has on average j (r - 1) / (m - 1) relevant ones before it in the block (McSherry and Najork
  // 2008).
  double sum = 0.0;
  double found = 0.0;
  for (int64_t begin = 0, end = 0; begin < depth; begin = end) {
    end = ranked.block_end(begin);
    const double m = static_cast<double>(end - begin);
    double r = 0.0;
    for (int64_t rank = begin; rank < end; ++rank) r += values[rank];
    const double slope = m > 1 ? (r - 1) / (m - 1) : 0.0;
    for (int64_t rank = begin; r > 0 && rank < std::min(end, depth); ++rank) {
      const double before = found + static_cast<double>(rank - begin) * slope;
      sum += r / m * (before + 1) / static_cast<double>(rank + 1);
    }
    found += r;
  }
  return sum / divisor(query);
}

}  // namespace rankgrove
