#include <algorithm>

#include "metrics/metric_families.hpp"

namespace rankgrove {

MeanNdcg::MeanNdcg(std::shared_ptr<const JudgedQueries> queries, std::vector<double> grade_values,
                   std::vector<double> weights, const ListRules& rules)
    : ListMetric(std::move(queries), std::move(grade_values), rules), weights_(std::move(weights)) {
  const JudgedQueries& judged = *this->queries();
  ideal_.resize(judged.n_rows());
  std::vector<double> values;
  for (int64_t q = 0; q < judged.n_queries(); ++q) {
    ideal_values(q, values);
    values.resize(std::min(judged.size(q), rules.k), 0.0);
    double dcg = 0.0;
    for (size_t rank = 0; rank < values.size(); ++rank) {
      dcg += weights_[rank] * values[rank];
      ideal_[judged.begin(q) + rank] = dcg;
    }
  }
}

double MeanNdcg::list_value(int64_t query, const double* values, int64_t depth) const {
  const double* ideal = ideal_.data() + queries()->begin(query);
  double dcg = 0.0;
  double sum = 0.0;
  for (int64_t rank = 0; rank < depth; ++rank) {
    dcg += weights_[rank] * values[rank];
    sum += dcg / ideal[rank];
  }
  return sum / static_cast<double>(depth);
}

}  // namespace rankgrove
