// Metrics that are sums over the blocks of a query, where the part of a block depends on its
// documents, on its first rank and on one number that summarises the blocks before it.
//
// Documents of a block come in a random order; `value` is the expectation over all orders. A block
// starts after s documents and holds m; ranks beyond k count nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/simd.hpp"
#include "forests/data/forest_targets.hpp"

namespace rankgrove::forests {

// The documents of a block, or some of them. `sum` is the number of relevant ones, or the
// probability that none of them satisfies; `passes` is for ExpectedReciprocalRankBlocks alone.
struct TiedDocuments {
  int32_t count = 0;
  double sum = 0.0;
  const double* passes = nullptr;
};

// Relevant documents are counted.
struct CountedBlocks {
  static constexpr bool kHasPasses = false;
  static constexpr double kNothing = 0.0;
  static double combined(double a, double b) { return a + b; }
  static double of_document(double value) { return value; }
};

// Average precision, times the number of relevant documents. A relevant document at the j-th rank
// of a block (from 0) has on average j (r - 1) / (m - 1) of the block's r relevant ones before it
// (McSherry and Najork 2008), and F before the block, so that the block adds
//   r / m * sum over j of (F + 1 + j (r - 1) / (m - 1)) / (s + j + 1).
// With h = sum over j of 1 / (s + j + 1), the sum of j / (s + j + 1) is m - (s + 1) h.
class AveragePrecisionBlocks : public CountedBlocks {
 public:
  AveragePrecisionBlocks(int64_t longest, int64_t k) : k_(std::min(longest, k)) {
    harmonic_.assign(static_cast<size_t>(longest) + 1, 0.0);
    for (int64_t r = 1; r <= longest; ++r) {
      harmonic_[r] = harmonic_[r - 1] + 1.0 / static_cast<double>(r);
    }
  }

  double value(int32_t start, double found, const TiedDocuments& block) const {
    const auto end = static_cast<int32_t>(std::min<int64_t>(start + block.count, k_));
    if (block.sum == 0 || end <= start) return 0.0;
    const double h = harmonic_[end] - harmonic_[start];
    const double slope = block.count > 1 ? (block.sum - 1) / (block.count - 1) : 0.0;
    return block.sum / block.count *
           ((found + 1) * h + slope * ((end - start) - (start + 1.0) * h));
  }

 private:
  int64_t k_;
  std::vector<double> harmonic_;
};

// Reciprocal rank of the first relevant document. It stands at the j-th rank of the first block
// with r > 0 relevant ones with the probability C(m - j - 1, r - 1) / C(m, r).
class ReciprocalRankBlocks : public CountedBlocks {
 public:
  ReciprocalRankBlocks(int64_t, int64_t k) : k_(k) {}

  double value(int32_t start, double found, const TiedDocuments& block) const {
    if (found > 0 || block.sum == 0) return 0.0;
    const int64_t end = start + block.count;
    double none = 1.0;  // the probability that no relevant one came yet
    double sum = 0.0;
    for (int64_t rank = start; rank < std::min(end, k_) && none > kNegligible; ++rank) {
      const double hit = block.sum / static_cast<double>(end - rank);
      sum += none * hit / static_cast<double>(rank + 1);
      none *= 1.0 - hit;
    }
    return sum;
  }

 private:
  static constexpr double kNegligible = 1e-18;
  int64_t k_;
};

// Adds a document to m - 1 others: passes[j] is the mean of the product of (1 - value) over all
// subsets of j documents, which keeps a subset without the new one with probability (m - j) / m.
inline void add_pass(double pass, int32_t m, double* passes) {
  passes[m] = pass * passes[m - 1];
  const double each = 1.0 / m;
  double before = passes[0];
  for (int32_t j = 1; j < m; ++j) {
    const double with = j * each;
    const double old = passes[j];
    passes[j] = (1.0 - with) * old + with * pass * before;
    before = old;
  }
}

// ERR. With e_j the mean of the product of (1 - value) over all subsets of j documents of the block
// (an elementary symmetric function over a binomial coefficient), the user who looks at the block
// is satisfied at its j-th rank with probability e_j - e_{j+1}, and looks at it with the
// probability `ranges` that nothing before it satisfied:
//   ranges * sum over j of (e_j - e_{j+1}) / (s + j + 1).
class ExpectedReciprocalRankBlocks {
 public:
  static constexpr bool kHasPasses = true;
  static constexpr double kNothing = 1.0;
  static double combined(double a, double b) { return a * b; }
  static double of_document(double value) { return 1.0 - value; }

  ExpectedReciprocalRankBlocks(int64_t longest, int64_t k) {
    inverse_.assign(static_cast<size_t>(longest) + 2, 0.0);
    for (int64_t r = 1; r <= std::min(longest, k); ++r) {
      inverse_[r] = 1.0 / static_cast<double>(r);
    }
    step_.assign(inverse_.size(), 0.0);
    for (size_t r = 0; r + 1 < step_.size(); ++r) step_[r] = inverse_[r + 1] - inverse_[r];
    last_ = static_cast<int32_t>(std::min(longest, k));
  }

  double value(int32_t start, double ranges, const TiedDocuments& block) const {
    if (block.sum == 1.0 || ranges == 0 || start >= last_) return 0.0;  // nothing satisfies
    const double* step = step_.data() + start;
    const double* passes = block.passes;
    const int32_t n = std::min(block.count, last_ - start + 1);
    double lane[4] = {0, 0, 0, 0};  // an order of additions that vectors can follow
    int32_t j = 1;
    for (; j + 4 <= n; j += 4) {
      for (int32_t l = 0; l < 4; ++l) lane[l] += passes[j + l] * step[j + l];
    }
    for (; j < n; ++j) lane[0] += passes[j] * step[j];
    const double sum = (lane[0] + lane[1]) + (lane[2] + lane[3]);
    return ranges *
           (inverse_[start + 1] + sum - passes[block.count] * inverse_[start + block.count]);
  }

 private:
  std::vector<double> inverse_, step_;
  int32_t last_ = 0;
};

}  // namespace rankgrove::forests
