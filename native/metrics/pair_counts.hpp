// Pairs of documents of one query, counted by the order of their scores and of their labels.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/judged_queries.hpp"
#include "metrics/ranked_query.hpp"

namespace rankgrove {

struct PairCounts {
  double all = 0.0;
  double tied_labels = 0.0;
  double tied_scores = 0.0;
  double tied_both = 0.0;
  double discordant = 0.0;  // the document of the lower label has the higher score

  double different_labels() const { return all - tied_labels; }
  double different_scores() const { return all - tied_scores; }
  double concordant() const { return all - tied_scores - tied_labels + tied_both - discordant; }
};

// Counts the pairs in O(n log n). The query must be ranked completely, with whole tie blocks.
PairCounts count_pairs(const JudgedQueries& queries, int64_t query, const RankedQuery& ranked,
                       std::vector<double>& workspace);

}  // namespace rankgrove
