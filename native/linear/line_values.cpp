#include "linear/line_values.hpp"

#include <algorithm>

#include "common/parallel.hpp"
#include "common/simd.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerDocument = 4.0;

struct Workspace {
  RankedQuery ranked;
  std::vector<double> scores, direction, moved, values;
};

RANKGROVE_SIMD void move_along(const double* scores, const double* direction, double step,
                               int64_t n, double* moved) {
  for (int64_t i = 0; i < n; ++i) moved[i] = scores[i] + step * direction[i];
}

}  // namespace

std::vector<double> line_values(const QueryMetric& metric, const double* scores,
                                const double* direction, const double* steps, int64_t n_steps,
                                int n_threads) {
  const JudgedQueries& queries = *metric.queries();
  const int64_t n_queries = queries.n_queries();
  const bool whole_blocks = metric.needs_blocks();
  std::vector<double> result(static_cast<size_t>(n_steps * n_queries));

  const auto walk = [&](int64_t query, Workspace& w) {
    const int64_t n = queries.size(query), begin = queries.begin(query);
    w.scores.resize(n);
    w.direction.resize(n);
    w.moved.resize(n);
    for (int64_t i = 0; i < n; ++i) {
      w.scores[i] = scores[queries.row(begin + i)];
      w.direction[i] = direction[queries.row(begin + i)];
    }
    for (int64_t step = 0; step < n_steps; ++step) {
      move_along(w.scores.data(), w.direction.data(), steps[step], n, w.moved.data());
      if (step == 0) {
        w.ranked.rank(w.moved.data(), n, metric.depth(), whole_blocks);
      } else {
        w.ranked.rank_again(w.moved.data(), metric.depth(), whole_blocks);
      }
      result[step * n_queries + query] = metric.value(query, w.ranked, w.values);
    }
  };

  const double mean_size =
      static_cast<double>(queries.n_rows()) / static_cast<double>(std::max<int64_t>(n_queries, 1));
  parallel_for(
      n_queries, n_threads, kNanosecondsPerDocument * mean_size * static_cast<double>(n_steps),
      [] { return Workspace(); }, walk);
  return result;
}

}  // namespace rankgrove
