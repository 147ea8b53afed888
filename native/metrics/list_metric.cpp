#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include "metrics/metric_families.hpp"

namespace rankgrove {

namespace {

// With so few grades, counting them is quicker than sorting documents.
constexpr size_t kFewGrades = 64;

}  // namespace

ListMetric::ListMetric(std::shared_ptr<const JudgedQueries> queries,
                       std::vector<double> grade_values, const ListRules& rules)
    : QueryMetric(std::move(queries)), grade_values_(std::move(grade_values)), rules_(rules) {
  const JudgedQueries& judged = *this->queries();
  best_grades_.resize(grade_values_.size());
  std::iota(best_grades_.begin(), best_grades_.end(), 0u);
  std::stable_sort(best_grades_.begin(), best_grades_.end(),
                   [this](uint32_t a, uint32_t b) { return grade_values_[a] > grade_values_[b]; });
  n_positive_.resize(judged.n_queries());
  for (int64_t q = 0; q < judged.n_queries(); ++q) {
    const uint32_t* grades = judged.grades_of(q);
    int64_t positive = 0;
    for (int64_t i = 0; i < judged.size(q); ++i) positive += grade_values_[grades[i]] > 0;
    n_positive_[q] = positive;
  }
}

void ListMetric::ideal_values(int64_t query, std::vector<double>& values) const {
  const uint32_t* grades = queries()->grades_of(query);
  const int64_t n = queries()->size(query);
  const int64_t wanted = std::min(n_positive_[query], rules_.k);
  values.clear();
  if (grade_values_.size() > kFewGrades) {
    for (int64_t i = 0; i < n; ++i) values.push_back(grade_values_[grades[i]]);
    keep_largest(values, wanted);
    return;
  }
  std::array<int64_t, kFewGrades> counts{};
  for (int64_t i = 0; i < n; ++i) ++counts[grades[i]];
  for (uint32_t grade : best_grades_) {
    const int64_t missing = wanted - static_cast<int64_t>(values.size());
    values.insert(values.end(), std::min(counts[grade], missing), grade_values_[grade]);
  }
}

double ListMetric::value(int64_t query, const RankedQuery& ranked,
                         std::vector<double>& workspace) const {
  if (n_positive_[query] == 0) return rules_.empty;
  const int64_t n = ranked.n_docs();
  if (rules_.short_lists == ShortRule::kZero && rules_.k != kWholeList && n < rules_.k) return 0.0;
  int64_t depth = std::min(n, rules_.k);
  if (queries()->partial_rankings) {  // documents that were not retrieved stand at the end
    constexpr double kNotRetrieved = -std::numeric_limits<double>::infinity();
    while (depth > 0 && ranked.scores()[ranked.document(depth - 1)] == kNotRetrieved) --depth;
    if (depth == 0) return 0.0;
  }

  int64_t filled = depth;  // with tie blocks: to the end of the block that holds the last rank
  if (needs_blocks()) {
    for (filled = 0; filled < depth;) filled = ranked.block_end(filled);
  }
  const uint32_t* grades = queries()->grades_of(query);
  workspace.resize(filled);
  for (int64_t rank = 0; rank < filled; ++rank) {
    workspace[rank] = grade_values_[grades[ranked.document(rank)]];
  }

  if (rules_.ties == TieRule::kAverage) return expected_value(query, ranked, workspace, depth);
  if (rules_.ties != TieRule::kInput) {
    for (int64_t begin = 0, end = 0; begin < filled; begin = end) {
      end = ranked.block_end(begin);
      if (end - begin == 1) continue;
      const auto first = workspace.begin() + begin;
      const auto last = workspace.begin() + end;
      if (rules_.ties == TieRule::kWorst) {
        std::sort(first, last);
      } else {
        std::sort(first, last, std::greater<>());
      }
    }
  }
  return list_value(query, workspace.data(), depth);
}

double ListMetric::expected_value(int64_t query, const RankedQuery& ranked,
                                  std::vector<double>& values, int64_t depth) const {
  for (int64_t begin = 0, end = 0; begin < depth; begin = end) {
    end = ranked.block_end(begin);
    if (end - begin == 1) continue;
    double sum = 0.0;
    for (int64_t rank = begin; rank < end; ++rank) sum += values[rank];
    std::fill(values.begin() + begin, values.begin() + end, sum / static_cast<double>(end - begin));
  }
  return list_value(query, values.data(), depth);
}

}  // namespace rankgrove
