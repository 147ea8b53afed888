// The metrics themselves. Each takes the judgments, its parameters, and how to treat ties and empty
// queries; see docs/reference/metrics.md for the formulas.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/query_metric.hpp"

namespace rankgrove {

// A metric that reads one number per document (gain, relevance, probability) in ranked order.
class ListMetric : public QueryMetric {
 public:
  // `grade_values` has the value of each grade.
  ListMetric(std::shared_ptr<const JudgedQueries> queries, std::vector<double> grade_values,
             const ListRules& rules);

  int64_t depth() const override { return rules_.k; }
  bool needs_blocks() const override { return rules_.ties != TieRule::kInput; }
  double value(int64_t query, const RankedQuery& ranked,
               std::vector<double>& workspace) const override;

 protected:
  // Value of a query that is neither empty nor ruled out as too short. `values` has those
  // of documents by rank, sorted inside tie blocks if the rule says so; `depth` <= k are read.
  virtual double list_value(int64_t query, const double* values, int64_t depth) const = 0;
  // The same under TieRule::kAverage. The default replaces each value by the mean of its block,
  // which is right for every metric that is linear in the values.
  virtual double expected_value(int64_t query, const RankedQuery& ranked,
                                std::vector<double>& values, int64_t depth) const;

  const ListRules& rules() const { return rules_; }
  int64_t n_positive(int64_t query) const { return n_positive_[query]; }
  // The positive values of a query in descending order, at most k of them.
  void ideal_values(int64_t query, std::vector<double>& values) const;

 private:
  std::vector<double> grade_values_;
  std::vector<uint32_t> best_grades_;  // grades by descending value
  std::vector<int64_t> n_positive_;
  ListRules rules_;
};

// sum over ranks of weight * value, divided by a number of the query: DCG, NDCG, precision, recall,
// rank-biased precision.
class CumulatedGain : public ListMetric {
 public:
  enum class Divisor {
    kNone,
    kIdeal,     // the largest sum that the query allows
    kPositive,  // the number of documents with a positive value
    kK,         // k, or the number of documents where k is absent or short lists are cut
  };
  CumulatedGain(std::shared_ptr<const JudgedQueries> queries, std::vector<double> grade_values,
                std::vector<double> weights, Divisor divisor, const ListRules& rules);

 protected:
  double list_value(int64_t query, const double* values, int64_t depth) const override;

 private:
  std::vector<double> weights_;
  std::vector<double> divisors_;  // by query
};

// Mean of NDCG@1, NDCG@2, ... over all cut-offs up to min(k, n).
class MeanNdcg : public ListMetric {
 public:
  MeanNdcg(std::shared_ptr<const JudgedQueries> queries, std::vector<double> grade_values,
           std::vector<double> weights, const ListRules& rules);

 protected:
  double list_value(int64_t query, const double* values, int64_t depth) const override;

 private:
  std::vector<double> weights_;
  std::vector<double> ideal_;  // ideal DCG by position in grouped order
};

// Average precision; values are 0 or 1.
class AveragePrecision : public ListMetric {
 public:
  // Divides by the number of relevant documents, or by min(that, k) if `cut_divisor`.
  AveragePrecision(std::shared_ptr<const JudgedQueries> queries, std::vector<double> grade_values,
                   bool cut_divisor, const ListRules& rules);

 protected:
  double list_value(int64_t query, const double* values, int64_t depth) const override;
  double expected_value(int64_t query, const RankedQuery& ranked, std::vector<double>& values,
                        int64_t depth) const override;

 private:
  double divisor(int64_t query) const;
  bool cut_divisor_;
};

// 1 / rank of the first relevant document; values are 0 or 1.
class ReciprocalRank : public ListMetric {
 public:
  using ListMetric::ListMetric;

 protected:
  double list_value(int64_t query, const double* values, int64_t depth) const override;
  double expected_value(int64_t query, const RankedQuery& ranked, std::vector<double>& values,
                        int64_t depth) const override;
};

// Expected reciprocal rank (Chapelle et al. 2009); values are probabilities of satisfaction.
class ExpectedReciprocalRank : public ListMetric {
 public:
  using ListMetric::ListMetric;

 protected:
  double list_value(int64_t query, const double* values, int64_t depth) const override;
  double expected_value(int64_t query, const RankedQuery& ranked, std::vector<double>& values,
                        int64_t depth) const override;
};

// Root of the mean squared difference of score and label inside each query.
class RootMeanSquaredError : public QueryMetric {
 public:
  using QueryMetric::QueryMetric;
  int64_t depth() const override { return 0; }
  bool needs_blocks() const override { return false; }
  double value(int64_t query, const RankedQuery& ranked,
               std::vector<double>& workspace) const override;
};

// Kendall's rank correlation of scores and labels: tau-b, which corrects for ties, or tau-a.
class KendallTau : public QueryMetric {
 public:
  // `empty` is the value of a query whose labels are all equal; NaN skips it.
  KendallTau(std::shared_ptr<const JudgedQueries> queries, bool correct_ties, double empty)
      : QueryMetric(std::move(queries)), correct_ties_(correct_ties), empty_(empty) {}
  int64_t depth() const override { return kWholeList; }
  bool needs_blocks() const override { return true; }
  double value(int64_t query, const RankedQuery& ranked,
               std::vector<double>& workspace) const override;

 private:
  bool correct_ties_;
  double empty_;
};

// Share of the pairs of documents with different labels that the scores put in the right order;
// pairs of equal scores count one half.
class PairAccuracy : public QueryMetric {
 public:
  // `empty` is the value of a query whose labels are all equal; NaN skips it.
  PairAccuracy(std::shared_ptr<const JudgedQueries> queries, double empty)
      : QueryMetric(std::move(queries)), empty_(empty) {}
  int64_t depth() const override { return kWholeList; }
  bool needs_blocks() const override { return true; }
  double value(int64_t query, const RankedQuery& ranked,
               std::vector<double>& workspace) const override;

 private:
  double empty_;
};

// Pearson's correlation of scores and labels, or Spearman's: that of their ranks, where equal
// values share the mean of their ranks. It is 0 if only the scores are all equal.
class Correlation : public QueryMetric {
 public:
  // `empty` is the value of a query whose labels are all equal; NaN skips it.
  Correlation(std::shared_ptr<const JudgedQueries> queries, bool of_ranks, double empty);
  int64_t depth() const override { return of_ranks_ ? kWholeList : 0; }
  bool needs_blocks() const override { return of_ranks_; }
  // Throws std::invalid_argument with the row of an infinite score, unless only ranks are read.
  double value(int64_t query, const RankedQuery& ranked,
               std::vector<double>& workspace) const override;

 private:
  bool of_ranks_;
  double empty_;
  std::vector<double> deviations_;  // of labels or their ranks, by position in grouped order
  std::vector<double> squares_;     // sum of their squares by query; 0 if its labels are all equal
};

}  // namespace rankgrove
