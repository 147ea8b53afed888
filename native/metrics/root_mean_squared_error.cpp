#include <cmath>
#include <limits>

#include "metrics/metric_families.hpp"

namespace rankgrove {

double RootMeanSquaredError::value(int64_t query, const RankedQuery& ranked,
                                   std::vector<double>&) const {
  const int64_t n = ranked.n_docs();
  if (n == 0) return std::numeric_limits<double>::quiet_NaN();
  const uint32_t* grades = queries()->grades_of(query);
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double difference = ranked.scores()[i] - queries()->labels[grades[i]];
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(n));
}

}  // namespace rankgrove
