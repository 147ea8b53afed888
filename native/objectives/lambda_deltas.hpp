// How much a metric changes when two documents of a ranking swap places.
//
// Each class is built for lists up to a length and a cut-off (the number of ranks that count), and
// serves one query at a time, documents in rank order, ranks counted from 0:
//   start(value, n)   takes what the metric needs of each document (see each class);
//   last_rank()       is the number of leading ranks that can change the metric at all;
//   fill(i, end, delta)  writes delta[j] = metric(now) - metric(i and j swapped) for j in (i, end).
// An oracle in the tests swaps and evaluates anew. Signs follow from the metrics: moving the better
// of two documents up never hurts.
#pragma once

#include <cstddef>
#include <vector>

namespace rankgrove {

// value: gain / ideal DCG of the query. Discounts are those of metrics/ranking.hpp for ranks below
// the cut-off, else 0.
class NdcgDelta {
 public:
  NdcgDelta(size_t k, size_t longest);
  void start(const float* value, size_t n) { value_ = value, n_ = n; }
  size_t last_rank() const;
  void fill(size_t i, size_t end, float* delta) const;

 private:
  std::vector<float> discount_;
  size_t k_;
  const float* value_ = nullptr;
  size_t n_ = 0;
};

// value: 1 for a relevant document, 0 otherwise. Average precision over the whole list.
class AveragePrecisionDelta {
 public:
  AveragePrecisionDelta(size_t /*k*/, size_t longest);
  void start(const float* value, size_t n);
  size_t last_rank() const { return n_relevant_ > 0 ? n_ : 0; }
  void fill(size_t i, size_t end, float* delta) const;

 private:
  const float* value_ = nullptr;
  size_t n_ = 0;
  double n_relevant_ = 0;
  std::vector<double> precision_;   // relevant documents at ranks 0..r, divided by r + 1
  std::vector<double> reciprocal_;  // sum of 1 / (m + 1) over relevant ranks m < r
};

// value: probability that a document satisfies the user, in [0, 1].
class ExpectedReciprocalRankDelta {
 public:
  ExpectedReciprocalRankDelta(size_t k, size_t longest);
  void start(const float* value, size_t n);
  size_t last_rank() const;
  void fill(size_t i, size_t end, float* delta) const;

 private:
  const float* value_ = nullptr;
  size_t n_ = 0;
  size_t k_;
  std::vector<double> reached_;  // probability that the user looks at rank r
};

// value: 1 for a relevant document, 0 otherwise.
class ReciprocalRankDelta {
 public:
  ReciprocalRankDelta(size_t k, size_t longest);
  void start(const float* value, size_t n);
  size_t last_rank() const;
  void fill(size_t i, size_t end, float* delta) const;

 private:
  float reciprocal(size_t rank) const {
    return rank < k_ && rank < n_ ? 1.0f / static_cast<float>(rank + 1) : 0.0f;
  }
  const float* value_ = nullptr;
  size_t n_ = 0;
  size_t k_;
  size_t first_ = 0;   // rank of the first relevant document, n if there is none
  size_t second_ = 0;  // of the second
};

// The pair weights of LambdaLoss, signed as changes of a metric are.

// value: gain / ideal DCG of the query. NDCG-Loss2 and NDCG-Loss2++: (G_i - G_j) times
// rank_part (1 / D_i - 1 / D_j) + mu (1 / D_m - 1 / D_{m + 1}), with m = |i - j| and the discounts
// D_r = log2(1 + r) of ranks counted from 1.
class RankDistanceDelta {
 public:
  RankDistanceDelta(float rank_part, float mu, size_t longest);
  void start(const float* value, size_t n) { value_ = value, n_ = n; }
  size_t last_rank() const { return n_; }
  void fill(size_t i, size_t end, float* delta) const;

 private:
  float rank_part_, mu_;
  std::vector<float> discount_;
  std::vector<float> gap_;  // by the distance of ranks
  const float* value_ = nullptr;
  size_t n_ = 0;
};

// value: label. ARP-Loss2: y_i - y_j.
class LabelDifferenceDelta {
 public:
  void start(const float* value, size_t n) { value_ = value, n_ = n; }
  size_t last_rank() const { return n_; }
  void fill(size_t i, size_t end, float* delta) const;

 private:
  const float* value_ = nullptr;
  size_t n_ = 0;
};

// value: gain / ideal DCG, or label. NDCG-Loss1 and ARP-Loss1: every document wants to stand above
// every other one, with the weight w = value / D (discounted) or value. A pair thus counts twice:
// fill writes the wish of i (w_i), fill_reverse that of j (-w_j).
class OwnWeightDelta {
 public:
  OwnWeightDelta(bool discounted, size_t longest);
  void start(const float* value, size_t n);
  size_t last_rank() const { return n_; }
  void fill(size_t i, size_t end, float* delta) const;
  void fill_reverse(size_t i, size_t end, float* delta) const;

 private:
  std::vector<float> discount_;
  std::vector<float> weight_;
  size_t n_ = 0;
};

}  // namespace rankgrove
