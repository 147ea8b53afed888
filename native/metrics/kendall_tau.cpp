#include <cmath>

#include "metrics/metric_families.hpp"
#include "metrics/pair_counts.hpp"

namespace rankgrove {

double KendallTau::value(int64_t query, const RankedQuery& ranked,
                         std::vector<double>& workspace) const {
  const PairCounts pairs = count_pairs(*queries(), query, ranked, workspace);
  if (pairs.different_labels() == 0) return empty_;
  const double difference = pairs.concordant() - pairs.discordant;
  if (!correct_ties_) return difference / pairs.all;
  if (pairs.different_scores() == 0) return 0.0;
  return difference / (std::sqrt(pairs.different_scores()) * std::sqrt(pairs.different_labels()));
}

}  // namespace rankgrove
