// Targets and weights of the rows of a forest, and the metric that listwise splits maximise.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "forests/data/sum_grid.hpp"

namespace rankgrove::forests {

// How a listwise metric is computed from the documents of a query.
enum class MetricKind {
  kPosition,  // scale[q] * sum over ranks r of discount(r) * gain(document): see query_response.hpp
  kAveragePrecision,  // these three: see block_metrics.hpp
  kReciprocalRank,
  kExpectedReciprocalRank,
  kFunction,  // any function of a query's documents and their scores: see function_gains.hpp
};

// Documents of some queries, query by query, and a score of each.
struct QueryRankings {
  std::vector<int32_t> rows;
  std::vector<int64_t> offsets{0};
  std::vector<double> scores;

  void clear() {
    rows.clear();
    offsets.assign(1, 0);
    scores.clear();
  }
};

// A metric that listwise splits raise: a sum over queries, in which tied documents have a random
// order.
struct ListwiseMetric {
  MetricKind kind = MetricKind::kPosition;
  int64_t k = 0;             // ranks that count; of all kinds but position, whose discounts end
  std::vector<double> gain;  // of each row: its gain, its relevance or its chance to satisfy
  std::vector<double> cumulative;  // sum of the discounts of the first r ranks, r = 0 .. longest
  std::vector<double> scale;       // of each query: its weight / ideal DCG, 0 where that is 0
  std::vector<double> weight;      // of each query in the mean
  // For kFunction: the value of each ranking, and whether it depends on more than the
  // order of the scores.
  std::function<void(const QueryRankings&, std::vector<double>&)> evaluate;
  bool reads_scores = false;
};

struct ForestTargets {
  std::vector<double> target;       // of each row; a leaf's value is the mean of its rows' targets
  std::vector<uint8_t> label;       // class of each row; empty if targets are not classes
  std::vector<double> class_value;  // target of each class
  std::vector<double> weight;       // of each row; empty if all weigh the same
  // The grids to which the terms of sums of weights, of weight x target and of weight x target^2
  // are rounded, if the sums must be exact.
  SumGrid weight_grid, target_grid, square_grid;
  ListwiseMetric metric;  // for listwise splits; empty without

  int32_t n_classes() const { return static_cast<int32_t>(class_value.size()); }
  bool has_classes() const { return !class_value.empty(); }

  // Number and mean target of unweighted documents with these numbers of each class; returns
  // whether all targets are equal.
  bool summarise(const uint32_t* class_counts, int64_t& n_documents, double& mean) const {
    double sum = 0;
    int32_t n_present = 0;
    n_documents = 0;
    for (int32_t c = 0; c < n_classes(); ++c) {
      sum += class_value[c] * class_counts[c];
      n_present += class_counts[c] > 0;
      n_documents += class_counts[c];
    }
    mean = sum / static_cast<double>(n_documents);
    return n_present == 1;
  }

  // Makes sums over the documents of any node exact, of up to `most_documents` of them, given the
  // largest weight and the largest absolute target of all rows.
  void make_sums_exact(int64_t most_documents, double largest_weight, double largest_target) {
    if (!weight.empty()) weight_grid = SumGrid(largest_weight, most_documents);
    const double factor = weight.empty() ? 1.0 : largest_weight;
    target_grid = SumGrid(factor * largest_target, most_documents);
    square_grid = SumGrid(factor * largest_target * largest_target, most_documents);
    for (double& w : weight) {  // a document that counts does not cease to
      if (w > 0) w = std::max(weight_grid.rounded(w), weight_grid.exact() ? weight_grid.unit() : w);
    }
  }
};

}  // namespace rankgrove::forests
