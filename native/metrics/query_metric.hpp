// A metric prepared for a set of judged queries.
//
// Life of a metric:
// 1. It is built from judgments: everything that no score changes (gains, ideal values, which
//    queries are empty) is computed then.
// 2. For a set of scores, `evaluate_metrics` ranks each query once, as deep as the deepest of the
//    metrics asks by `depth`, with whole tie blocks if one of them asks by `needs_blocks`.
// 3. `value` turns the ranked query into a number; NaN means that the query is skipped. It runs on
//    many threads at once and changes nothing but its workspace.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "metrics/judged_queries.hpp"
#include "metrics/ranked_query.hpp"
#include "metrics/ranking.hpp"

namespace rankgrove {

class QueryMetric {
 public:
  explicit QueryMetric(std::shared_ptr<const JudgedQueries> queries)
      : queries_(std::move(queries)) {}
  virtual ~QueryMetric() = default;

  const std::shared_ptr<const JudgedQueries>& queries() const { return queries_; }
  virtual int64_t depth() const = 0;
  virtual bool needs_blocks() const = 0;
  virtual double value(int64_t query, const RankedQuery& ranked,
                       std::vector<double>& workspace) const = 0;

 private:
  std::shared_ptr<const JudgedQueries> queries_;
};

// Values of each metric for each query: result[m * n_queries + q]. All metrics share one
// JudgedQueries. Scores are in the caller's order and hold no NaN.
template <typename Score>
std::vector<double> evaluate_metrics(const std::vector<const QueryMetric*>& metrics,
                                     const Score* scores, int n_threads);

// Labels of the documents of each query from the best score to the worst, query by query.
template <typename Score>
std::vector<double> ranked_labels(const JudgedQueries& queries, const Score* scores);

// Row of the first NaN in scores, or -1.
template <typename Score>
int64_t first_nan(const Score* scores, int64_t n);

// Mean of the values that are not NaN; weights may be null. NaN if there is none or no weight.
double mean_over_queries(const double* values, const double* weights, int64_t n_queries);

}  // namespace rankgrove
