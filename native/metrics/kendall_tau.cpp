#include <algorithm>
#include <cmath>
#include <functional>

#include "metrics/metric_families.hpp"

namespace rankgrove {

namespace {

double pairs(int64_t n) { return 0.5 * static_cast<double>(n) * static_cast<double>(n - 1); }

// Pairs of equal values in a sorted range.
double tied_pairs(const double* first, const double* last) {
  double tied = 0.0;
  while (first != last) {
    const double* end = std::find_if(first, last, [&](double v) { return v != *first; });
    tied += pairs(end - first);
    first = end;
  }
  return tied;
}

// Sorts values in descending order and returns how many pairs stood in strictly ascending order.
double sort_and_count(double* values, int64_t n, double* spare) {
  double ascending = 0.0;
  for (int64_t run = 1; run < n; run *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * run) {
      const int64_t middle = std::min(begin + run, n);
      const int64_t end = std::min(begin + 2 * run, n);
      int64_t left = begin;
      int64_t right = middle;
      for (int64_t out = begin; out < end; ++out) {
        if (left < middle && (right == end || values[left] >= values[right])) {
          spare[out] = values[left++];
        } else {
          ascending += static_cast<double>(middle - left);
          spare[out] = values[right++];
        }
      }
    }
    std::copy(spare, spare + n, values);
  }
  return ascending;
}

}  // namespace

double KendallTau::value(int64_t query, const RankedQuery& ranked,
                         std::vector<double>& workspace) const {
  // Knight's method: order by score, inside ties by label; the discordant pairs are then the
  // inversions of the labels.
  const int64_t n = ranked.n_docs();
  workspace.resize(2 * n);
  double* labels = workspace.data();
  const uint32_t* grades = queries()->grades_of(query);
  for (int64_t rank = 0; rank < n; ++rank) {
    labels[rank] = queries()->labels[grades[ranked.document(rank)]];
  }
  double tied_scores = 0.0;
  double tied_both = 0.0;
  for (int64_t begin = 0, end = 0; begin < n; begin = end) {
    end = ranked.block_end(begin);
    if (end - begin == 1) continue;
    std::sort(labels + begin, labels + end, std::greater<>());
    tied_scores += pairs(end - begin);
    tied_both += tied_pairs(labels + begin, labels + end);
  }
  const double discordant = sort_and_count(labels, n, labels + n);
  const double tied_labels = tied_pairs(labels, labels + n);
  const double all = pairs(n);
  if (all == tied_labels) return empty_;
  const double concordant = all - tied_scores - tied_labels + tied_both - discordant;
  const double difference = concordant - discordant;
  if (!correct_ties_) return difference / all;
  if (all == tied_scores) return 0.0;
  return difference / (std::sqrt(all - tied_scores) * std::sqrt(all - tied_labels));
}

}  // namespace rankgrove
