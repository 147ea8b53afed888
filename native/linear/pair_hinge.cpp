#include "linear/pair_hinge.hpp"

#include <algorithm>

#include "metrics/ranking_order.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerDocument = 60.0;

// Sums over the documents of a window: of factors, and of factors times score and its square.
struct Window {
  double factor = 0.0, score = 0.0, square = 0.0;

  void add(const Window& other) {
    factor += other.factor;
    score += other.score;
    square += other.square;
  }
};

// Sums by label: those of all labels below some label in O(log labels).
class LabelSums {
 public:
  void reset(int32_t n_grades) { nodes_.assign(static_cast<size_t>(n_grades) + 1, Window{}); }

  void add(int32_t grade, const Window& document) {
    for (size_t i = static_cast<size_t>(grade) + 1; i < nodes_.size(); i += i & (~i + 1)) {
      nodes_[i].add(document);
    }
  }

  Window below(int32_t grade) const {
    Window sum;
    for (auto i = static_cast<size_t>(grade); i > 0; i &= i - 1) sum.add(nodes_[i]);
    return sum;
  }

 private:
  std::vector<Window> nodes_;
};

}  // namespace

struct PairHinge::Scratch {
  explicit Scratch(size_t longest) : centred(longest) {}
  RankingOrder order;
  std::vector<double> centred;
  LabelSums sums;
};

PairHinge::PairHinge(const Queries& queries, const double* labels, const double* factors,
                     bool squared, bool by_query)
    : offsets_(queries.offsets, queries.offsets + queries.count + 1),
      grades_(offsets_.back()),
      n_grades_(queries.count),
      query_factors_(queries.count, 1.0),
      squared_(squared) {
  if (factors) factors_.assign(factors, factors + offsets_.back());
  std::vector<double> different;
  for (int64_t q = 0; q < queries.count; ++q) {
    const int64_t begin = offsets_[q], end = offsets_[q + 1];
    different.assign(labels + begin, labels + end);
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    n_grades_[q] = static_cast<int32_t>(different.size());
    std::vector<double> mass(different.size());
    for (int64_t i = begin; i < end; ++i) {
      const auto found = std::lower_bound(different.begin(), different.end(), labels[i]);
      grades_[i] = static_cast<int32_t>(found - different.begin());
      mass[grades_[i]] += factors ? factors[i] : 1.0;
    }
    if (!by_query) continue;
    double pairs = 0.0, lower = 0.0;
    for (const double own : mass) {
      pairs += own * lower;
      lower += own;
    }
    query_factors_[q] = pairs > 0 ? 1.0 / pairs : 0.0;
  }
}

double PairHinge::query_loss(int64_t query, const double* scores, Scratch& s,
                             double* gradients) const {
  const int64_t begin = offsets_[query], n = offsets_[query + 1] - begin;
  std::fill_n(gradients, n, 0.0);
  const double scale = query_factors_[query];
  if (n_grades_[query] < 2 || scale == 0.0) return 0.0;
  const int32_t* grades = grades_.data() + begin;
  const double* factors = factors_.empty() ? nullptr : factors_.data() + begin;
  const int32_t* order = s.order.sort(scores, static_cast<size_t>(n));  // best first
  const double middle = scores[order[n / 2]];
  for (int64_t i = 0; i < n; ++i) s.centred[i] = scores[i] - middle;
  const double* score = s.centred.data();
  const auto factor = [&](int32_t d) { return factors ? factors[d] : 1.0; };
  const auto window = [&](int32_t d) {
    return Window{factor(d), factor(d) * score[d], factor(d) * score[d] * score[d]};
  };

  // Each document with the lower ones that are less than 1 below it, from the best score down.
  double loss = 0.0;
  s.sums.reset(n_grades_[query]);
  for (int64_t rank = 0, next = 0; rank < n; ++rank) {
    const int32_t d = order[rank];
    for (; next < n && score[order[next]] > score[d] - 1.0; ++next) {
      s.sums.add(grades[order[next]], window(order[next]));
    }
    const Window lower = s.sums.below(grades[d]);
    const double missing = 1.0 - score[d];  // of a pair's loss, but for the other's score
    const double violation = missing * lower.factor + lower.score;
    if (squared_) {
      loss += factor(d) *
              (missing * missing * lower.factor + 2.0 * missing * lower.score + lower.square);
      gradients[d] -= 2.0 * scale * factor(d) * violation;
    } else {
      loss += factor(d) * violation;
      gradients[d] -= scale * factor(d) * lower.factor;
    }
  }
  // Each document with the higher ones that are less than 1 above it, from the worst score up.
  s.sums.reset(n_grades_[query]);
  for (int64_t rank = n - 1, next = n - 1; rank >= 0; --rank) {
    const int32_t d = order[rank];
    for (; next >= 0 && score[order[next]] < score[d] + 1.0; --next) {
      s.sums.add(n_grades_[query] - 1 - grades[order[next]], window(order[next]));
    }
    const Window higher = s.sums.below(n_grades_[query] - 1 - grades[d]);
    if (squared_) {
      gradients[d] += 2.0 * scale * factor(d) * ((1.0 + score[d]) * higher.factor - higher.score);
    } else {
      gradients[d] += scale * factor(d) * higher.factor;
    }
  }
  return scale * std::max(loss, 0.0);
}

std::vector<double> PairHinge::losses(const double* scores, int n_threads,
                                      double* gradients) const {
  const Queries queries{offsets_.data(), static_cast<int64_t>(offsets_.size()) - 1};
  std::vector<double> losses(queries.count);
  const auto longest = static_cast<size_t>(queries.longest());
  for_each_query(
      queries, n_threads, kNanosecondsPerDocument, [&] { return Scratch(longest); },
      [&](int64_t q, Scratch& s) {
        losses[q] = query_loss(q, scores + offsets_[q], s, gradients + offsets_[q]);
      });
  return losses;
}

}  // namespace rankgrove
