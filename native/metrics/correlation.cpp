#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "metrics/metric_families.hpp"

namespace rankgrove {

namespace {

// Deviations of ranks, by ascending score, from their mean; equal scores share the mean of their
// ranks. They are multiples of 1/2, so that sums of their products are exact.
void rank_deviations(const RankedQuery& ranked, double* deviations) {
  const int64_t n = ranked.n_docs();
  for (int64_t begin = 0, end = 0; begin < n; begin = end) {
    end = ranked.block_end(begin);
    const double deviation = 0.5 * static_cast<double>(n - begin - end);
    for (int64_t rank = begin; rank < end; ++rank) deviations[ranked.document(rank)] = deviation;
  }
}

// Index of the first value whose distance from the first one is not finite, or -1.
int64_t first_too_far(const double* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i] - values[0])) return i;
  }
  return -1;
}

// Deviations of values from their mean, as multiples of the largest distance from the first value:
// squares neither overflow nor vanish, and equal values have deviations of exactly 0.
void value_deviations(const double* values, int64_t n, double* deviations) {
  double largest = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    deviations[i] = values[i] - values[0];
    largest = std::max(largest, std::abs(deviations[i]));
  }
  if (largest == 0) return;
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    deviations[i] /= largest;
    sum += deviations[i];
  }
  const double mean = sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) deviations[i] -= mean;
}

double dot(const double* left, const double* right, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += left[i] * right[i];
  return sum;
}

}  // namespace

Correlation::Correlation(std::shared_ptr<const JudgedQueries> queries, bool of_ranks, double empty)
    : QueryMetric(std::move(queries)), of_ranks_(of_ranks), empty_(empty) {
  const JudgedQueries& judged = *this->queries();
  deviations_.resize(judged.n_rows());
  squares_.resize(judged.n_queries());
  RankedQuery ranked;
  std::vector<double> labels;
  for (int64_t query = 0; query < judged.n_queries(); ++query) {
    const int64_t begin = judged.begin(query);
    const int64_t n = judged.size(query);
    labels.resize(n);
    for (int64_t i = 0; i < n; ++i) labels[i] = judged.labels[judged.grades[begin + i]];
    double* deviations = deviations_.data() + begin;
    if (of_ranks) {
      ranked.rank(labels.data(), n, n, true);
      rank_deviations(ranked, deviations);
    } else {
      const int64_t far = first_too_far(labels.data(), n);
      if (far >= 0) {
        throw std::invalid_argument("label of row " + std::to_string(judged.row(begin + far)) +
                                    " is too far from the others of its query for a correlation");
      }
      value_deviations(labels.data(), n, deviations);
    }
    squares_[query] = dot(deviations, deviations, n);
  }
}

double Correlation::value(int64_t query, const RankedQuery& ranked,
                          std::vector<double>& workspace) const {
  if (squares_[query] == 0) return empty_;
  const int64_t n = ranked.n_docs();
  const int64_t begin = queries()->begin(query);
  workspace.resize(n);
  double* deviations = workspace.data();
  if (of_ranks_) {
    rank_deviations(ranked, deviations);
  } else {
    const int64_t far = first_too_far(ranked.scores(), n);
    if (far >= 0) {
      throw std::invalid_argument("score of row " + std::to_string(queries()->row(begin + far)) +
                                  " is infinite, or too far from the others of its query for a "
                                  "correlation");
    }
    value_deviations(ranked.scores(), n, deviations);
  }
  const double squares = dot(deviations, deviations, n);
  if (squares == 0) return 0.0;
  const double products = dot(deviations_.data() + begin, deviations, n);
  return std::clamp(products / std::sqrt(squares_[query] * squares), -1.0, 1.0);
}

}  // namespace rankgrove
