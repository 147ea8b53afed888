// The arithmetic of ranking, in one place for metrics, objectives and forests alike: value of a
// label, discount of a rank, ideal DCG of a query, and the rules for ties, short lists and empty
// queries.
//
// Vocabulary: a *label* is a judgment (0 = irrelevant); its *gain* is what a document of that label
// adds to DCG at the top rank; a *rank* counts from 0 here (rank 0 is the top document); the
// *discount* of a rank is the factor in (0, 1] that multiplies the gain found there, so that
//   DCG@k = sum over ranks r < min(k, n) of discount[r] * gain[document at r].
// The *value* of a document is what a metric reads: its gain, its relevance (0 or 1) or the
// probability that it satisfies the user. An *empty* query has no document of positive value.
//
// Use: compute the values of all documents once (`LabelValue`), the discounts once for the longest
// query (`discount_table`), the ideal DCG of each query once (`ideal_dcg`); per iteration only
// products of these remain.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rankgrove {

// The k that cuts nothing.
inline constexpr int64_t kWholeList = std::numeric_limits<int64_t>::max();

// A label that a gain or a metric cannot use; becomes rankgrove.errors.LabelError.
struct LabelError : std::invalid_argument {
  LabelError(const std::string& place, double label, const std::string& reason)
      : std::invalid_argument(place + " " + reason), place(place), label(label), reason(reason) {}
  std::string place;  // for example "label of row 7"
  double label;
  std::string reason;
};

[[noreturn]] inline void reject_label(const std::string& place, double label,
                                      const std::string& reason) {
  throw LabelError(place, label, reason);
}

struct GainRule {
  enum class Kind { kExponential, kLinear, kTable };
  Kind kind = Kind::kExponential;
  std::vector<double> table;  // gain of label 0, 1, ..., only for Kind::kTable

  // Beyond this label 2^label - 1 is no longer an exact double.
  static constexpr double kMaxExponent = 53;

  // Throws std::invalid_argument where the label has no gain; `what()` names it.
  template <typename Describe>
  double operator()(double label, Describe&& what) const {
    if (!(label >= 0) || !std::isfinite(label)) {
      reject_label(what(), label, "is not a finite number of at least 0");
    }
    switch (kind) {
      case Kind::kLinear:
        return label;
      case Kind::kTable: {
        if (label != std::floor(label))
          reject_label(what(), label, "is not a whole number: a table of gains needs one");
        if (label >= static_cast<double>(table.size())) {
          reject_label(what(), label,
                       "lies beyond the table of gains, which ends at label " +
                           std::to_string(table.size() - 1));
        }
        return table[static_cast<size_t>(label)];
      }
      case Kind::kExponential:
        break;
    }
    if (label > kMaxExponent) {
      reject_label(
          what(), label,
          "is too large for the gain 2^label - 1 (at most 53): use a linear gain or a table");
    }
    if (label == std::floor(label))
      return static_cast<double>((int64_t{1} << static_cast<int>(label)) - 1);
    return std::exp2(label) - 1.0;
  }
};

// The value of a document of some label.
class LabelValue {
 public:
  static LabelValue gain(GainRule rule) { return LabelValue(std::move(rule)); }
  // 1 for labels of at least `threshold`, else 0.
  static LabelValue relevance(double threshold) {
    LabelValue value{GainRule{GainRule::Kind::kLinear, {}}};
    value.threshold_ = threshold;
    value.is_binary_ = true;
    return value;
  }
  // (2^label - 1) / 2^max_grade, or label / max_grade.
  static LabelValue satisfaction(GainRule::Kind kind, double max_grade) {
    LabelValue value{GainRule{kind, {}}};
    value.max_grade_ = max_grade;
    value.divisor_ = kind == GainRule::Kind::kLinear ? max_grade : std::exp2(max_grade);
    return value;
  }

  // Throws std::invalid_argument if the label has no value; `what()` names it.
  template <typename Describe>
  double operator()(double label, Describe&& what) const {
    const double gain = rule_(label, what);
    if (label > max_grade_) {
      reject_label(what(), label, "exceeds max_grade, the highest label of the scale");
    }
    return is_binary_ ? (label >= threshold_ ? 1.0 : 0.0) : gain / divisor_;
  }

 private:
  explicit LabelValue(GainRule rule) : rule_(std::move(rule)) {}

  GainRule rule_;
  bool is_binary_ = false;
  double threshold_ = 0.0;
  double max_grade_ = std::numeric_limits<double>::infinity();
  double divisor_ = 1.0;
};

struct DiscountRule {
  // log2:  1 / log2(r + 1), r = 1 for the top document
  // alpha: 1 / log2(r + 1)^power   (Ibrahim and Carman, equation 14)
  // beta:  1 / r^power             (Ibrahim and Carman, equation 15; Wang et al. 2013)
  // letor: 1 for r = 1 and 2, then 1 / log2(r), as in the LETOR and MSLR evaluation scripts
  enum class Kind { kLog2, kAlpha, kBeta, kLetor };
  Kind kind = Kind::kLog2;
  double power = 1.0;

  // Factor at a rank counted from 0.
  double operator()(int64_t rank) const {
    const double r = static_cast<double>(rank) + 1.0;
    switch (kind) {
      case Kind::kAlpha:
        return std::pow(std::log2(r + 1.0), -power);
      case Kind::kBeta:
        return std::pow(r, -power);
      case Kind::kLetor:
        return rank < 2 ? 1.0 : 1.0 / std::log2(r);
      case Kind::kLog2:
        break;
    }
    return 1.0 / std::log2(r + 1.0);
  }
};

// Discounts of ranks 0 .. n - 1.
inline std::vector<double> discount_table(const DiscountRule& rule, int64_t n) {
  std::vector<double> table(static_cast<size_t>(std::max<int64_t>(n, 0)));
  for (int64_t rank = 0; rank < n; ++rank) table[rank] = rule(rank);
  return table;
}

// Keeps the k largest of some values, in descending order.
inline void keep_largest(std::vector<double>& values, int64_t k) {
  const auto kept = std::min<int64_t>(static_cast<int64_t>(values.size()), k);
  std::partial_sort(values.begin(), values.begin() + kept, values.end(), std::greater<>());
  values.resize(static_cast<size_t>(kept));
}

// Sum of discount * value over the first n ranks.
inline double discounted_sum(const double* values, const double* discount, int64_t n) {
  double sum = 0.0;
  for (int64_t rank = 0; rank < n; ++rank) sum += discount[rank] * values[rank];
  return sum;
}

// The largest DCG that n documents allow; ranks beyond the `n_discounts` count nothing. `scratch`
// is overwritten.
inline double ideal_dcg(const double* gains, int64_t n, const double* discount, int64_t n_discounts,
                        std::vector<double>& scratch) {
  scratch.assign(gains, gains + n);
  keep_largest(scratch, n_discounts);
  return discounted_sum(scratch.data(), discount, static_cast<int64_t>(scratch.size()));
}

// How documents of equal score are ranked.
enum class TieRule {
  kInput,    // in the order of the data
  kAverage,  // the mean of the metric over all their orders
  kWorst,    // lower value first
  kBest,     // higher value first
};

// The meaning of a cut-off k for a query with fewer than k documents.
enum class ShortRule {
  kPad,   // the missing documents count as irrelevant
  kCut,   // k becomes the number of documents
  kZero,  // the value is 0
};

// Rules that all metrics of ranked lists share.
struct ListRules {
  int64_t k = kWholeList;
  TieRule ties = TieRule::kInput;
  ShortRule short_lists = ShortRule::kPad;
  double empty = 0.0;  // value of an empty query; NaN skips it
};

}  // namespace rankgrove
