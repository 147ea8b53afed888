#include <algorithm>

#include "metrics/metric_families.hpp"

namespace rankgrove {

CumulatedGain::CumulatedGain(std::shared_ptr<const JudgedQueries> queries,
                             std::vector<double> grade_values, std::vector<double> weights,
                             Divisor divisor, const ListRules& rules)
    : ListMetric(std::move(queries), std::move(grade_values), rules), weights_(std::move(weights)) {
  const JudgedQueries& judged = *this->queries();
  divisors_.resize(judged.n_queries());
  std::vector<double> scratch;
  for (int64_t q = 0; q < judged.n_queries(); ++q) {
    const int64_t n = judged.size(q);
    double by = 1.0;
    switch (divisor) {
      case Divisor::kNone:
        break;
      case Divisor::kIdeal:
        ideal_values(q, scratch);
        by = discounted_sum(scratch.data(), weights_.data(), static_cast<int64_t>(scratch.size()));
        break;
      case Divisor::kPositive:
        by = static_cast<double>(n_positive(q));
        break;
      case Divisor::kK:
        by = static_cast<double>(rules.k == kWholeList || rules.short_lists == ShortRule::kCut
                                     ? std::min(n, rules.k)
                                     : rules.k);
        break;
    }
    divisors_[q] = by;
  }
}

double CumulatedGain::list_value(int64_t query, const double* values, int64_t depth) const {
  return discounted_sum(values, weights_.data(), depth) / divisors_[query];
}

}  // namespace rankgrove
