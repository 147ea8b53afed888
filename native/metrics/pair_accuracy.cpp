#include "metrics/metric_families.hpp"
#include "metrics/pair_counts.hpp"

namespace rankgrove {

double PairAccuracy::value(int64_t query, const RankedQuery& ranked,
                           std::vector<double>& workspace) const {
  const PairCounts pairs = count_pairs(*queries(), query, ranked, workspace);
  if (pairs.different_labels() == 0) return empty_;
  const double undecided = pairs.tied_scores - pairs.tied_both;
  return (pairs.concordant() + 0.5 * undecided) / pairs.different_labels();
}

}  // namespace rankgrove
