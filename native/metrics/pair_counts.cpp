#include "metrics/pair_counts.hpp"

#include <algorithm>
#include <functional>

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

PairCounts count_pairs(const JudgedQueries& queries, int64_t query, const RankedQuery& ranked,
                       std::vector<double>& workspace) {
  // Knight's method: order by score, inside ties by label; the discordant pairs are then the
  // inversions of the labels.
  const int64_t n = ranked.n_docs();
  workspace.resize(2 * n);
  double* labels = workspace.data();
  const uint32_t* grades = queries.grades_of(query);
  for (int64_t rank = 0; rank < n; ++rank) {
    labels[rank] = queries.labels[grades[ranked.document(rank)]];
  }
  PairCounts counts;
  counts.all = pairs(n);
  for (int64_t begin = 0, end = 0; begin < n; begin = end) {
    end = ranked.block_end(begin);
    if (end - begin == 1) continue;
    std::sort(labels + begin, labels + end, std::greater<>());
    counts.tied_scores += pairs(end - begin);
    counts.tied_both += tied_pairs(labels + begin, labels + end);
  }
  counts.discordant = sort_and_count(labels, n, labels + n);
  counts.tied_labels = tied_pairs(labels, labels + n);
  return counts;
}

}  // namespace rankgrove
