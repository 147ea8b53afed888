#include "metrics/query_metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "common/parallel.hpp"

namespace rankgrove {

namespace {

constexpr double kNanosecondsPerDocument = 10.0;

// The scores of a query's documents; `copy` holds them where they must be brought together.
template <typename Score>
const double* scores_of(const JudgedQueries& queries, int64_t query, const Score* scores,
                        std::vector<double>& copy) {
  const int64_t begin = queries.begin(query);
  if constexpr (std::is_same_v<Score, double>) {
    if (queries.order.empty()) return scores + begin;
  }
  copy.resize(queries.size(query));
  for (size_t i = 0; i < copy.size(); ++i) {
    copy[i] = static_cast<double>(scores[queries.row(begin + static_cast<int64_t>(i))]);
  }
  return copy.data();
}

struct Workspace {
  RankedQuery ranked;
  std::vector<double> scores;
  std::vector<double> values;
};

}  // namespace

template <typename Score>
std::vector<double> evaluate_metrics(const std::vector<const QueryMetric*>& metrics,
                                     const Score* scores, int n_threads) {
  const JudgedQueries& queries = *metrics.front()->queries();
  const int64_t n_queries = queries.n_queries();
  int64_t depth = 0;
  bool whole_blocks = false;
  for (const QueryMetric* metric : metrics) {
    depth = std::max(depth, metric->depth());
    whole_blocks = whole_blocks || metric->needs_blocks();
  }
  std::vector<double> result(metrics.size() * static_cast<size_t>(n_queries));

  const auto evaluate_query = [&](int64_t query, Workspace& workspace) {
    const double* own_scores = scores_of(queries, query, scores, workspace.scores);
    workspace.ranked.rank(own_scores, queries.size(query), depth, whole_blocks);
    for (size_t m = 0; m < metrics.size(); ++m) {
      result[m * n_queries + query] = metrics[m]->value(query, workspace.ranked, workspace.values);
    }
  };

  const double mean_size =
      static_cast<double>(queries.n_rows()) / static_cast<double>(std::max<int64_t>(n_queries, 1));
  parallel_for(
      n_queries, n_threads, kNanosecondsPerDocument * mean_size, [] { return Workspace(); },
      evaluate_query);
  return result;
}

template std::vector<double> evaluate_metrics(const std::vector<const QueryMetric*>&, const double*,
                                              int);
template std::vector<double> evaluate_metrics(const std::vector<const QueryMetric*>&, const float*,
                                              int);

template <typename Score>
std::vector<double> ranked_labels(const JudgedQueries& queries, const Score* scores) {
  std::vector<double> labels(queries.n_rows());
  Workspace workspace;
  for (int64_t query = 0; query < queries.n_queries(); ++query) {
    const int64_t n = queries.size(query);
    workspace.ranked.rank(scores_of(queries, query, scores, workspace.scores), n, n, false);
    const uint32_t* grades = queries.grades_of(query);
    for (int64_t rank = 0; rank < n; ++rank) {
      labels[queries.begin(query) + rank] = queries.labels[grades[workspace.ranked.document(rank)]];
    }
  }
  return labels;
}

template std::vector<double> ranked_labels(const JudgedQueries&, const double*);
template std::vector<double> ranked_labels(const JudgedQueries&, const float*);

template <typename Score>
int64_t first_nan(const Score* scores, int64_t n) {
  constexpr int64_t kBlock = 1024;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    int found = 0;
    for (int64_t i = begin; i < end; ++i) found |= scores[i] != scores[i];
    if (!found) continue;
    for (int64_t i = begin; i < end; ++i) {
      if (std::isnan(scores[i])) return i;
    }
  }
  return -1;
}

template int64_t first_nan(const double*, int64_t);
template int64_t first_nan(const float*, int64_t);

double mean_over_queries(const double* values, const double* weights, int64_t n_queries) {
  double sum = 0.0;
  double total = 0.0;
  for (int64_t q = 0; q < n_queries; ++q) {
    if (std::isnan(values[q])) continue;
    const double weight = weights == nullptr ? 1.0 : weights[q];
    sum += weight * values[q];
    total += weight;
  }
  return total > 0 ? sum / total : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace rankgrove
