#include <algorithm>
#include <functional>

#include "metrics/metric_families.hpp"

namespace rankgrove {

ListMetric::ListMetric(std::shared_ptr<const JudgedQueries> queries, std::vector<double> worth,
                       const ListRules& rules)
    : QueryMetric(std::move(queries)), worth_(std::move(worth)), rules_(rules) {
  const JudgedQueries& judged = *this->queries();
  n_positive_.resize(judged.n_queries());
  for (int64_t q = 0; q < judged.n_queries(); ++q) {
    const double* own = worth_.data() + judged.begin(q);
    n_positive_[q] = std::count_if(own, own + judged.size(q), [](double w) { return w > 0; });
  }
}

double ListMetric::value(int64_t query, const RankedQuery& ranked,
                         std::vector<double>& workspace) const {
  if (n_positive_[query] == 0) return rules_.empty;
  const int64_t n = ranked.n_docs();
  if (rules_.short_lists == ShortRule::zero && rules_.k != kNoCutoff && n < rules_.k) return 0.0;
  const int64_t depth = std::min(n, rules_.k);

  int64_t filled = depth;  // with tie blocks: to the end of the block that holds the last rank
  if (needs_blocks()) {
    for (filled = 0; filled < depth;) filled = ranked.block_end(filled);
  }
  const double* own = worth_.data() + queries()->begin(query);
  workspace.resize(filled);
  for (int64_t rank = 0; rank < filled; ++rank) workspace[rank] = own[ranked.document(rank)];

  if (rules_.ties == TieRule::average) return expected_value(query, ranked, workspace, depth);
  if (rules_.ties != TieRule::input) {
    for (int64_t begin = 0, end = 0; begin < filled; begin = end) {
      end = ranked.block_end(begin);
      if (end - begin == 1) continue;
      const auto first = workspace.begin() + begin;
      const auto last = workspace.begin() + end;
      if (rules_.ties == TieRule::worst) {
        std::sort(first, last);
      } else {
        std::sort(first, last, std::greater<>());
      }
    }
  }
  return list_value(query, workspace.data(), depth);
}

double ListMetric::expected_value(int64_t query, const RankedQuery& ranked,
                                  std::vector<double>& worth, int64_t depth) const {
  for (int64_t begin = 0, end = 0; begin < depth; begin = end) {
    end = ranked.block_end(begin);
    if (end - begin == 1) continue;
    double sum = 0.0;
    for (int64_t rank = begin; rank < end; ++rank) sum += worth[rank];
    std::fill(worth.begin() + begin, worth.begin() + end, sum / static_cast<double>(end - begin));
  }
  return list_value(query, worth.data(), depth);
}

}  // namespace rankgrove
