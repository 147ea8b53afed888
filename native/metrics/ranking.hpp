// The arithmetic of ranking, in one place for metrics and objectives alike: gain of a label,
// discount of a rank, ideal DCG of a query.
//
// Vocabulary: a *label* is a judgment (0 = irrelevant); its *gain* is what a document of that label
// is worth; a *rank* counts from 0 here (rank 0 is the top document); the *discount* of a rank is
// the factor in (0, 1] that multiplies the gain found there, so that
//   DCG@k = sum over ranks r < min(k, n) of discount[r] * gain[document at r].
// An *empty* query has no document with a positive gain: its ideal DCG is 0.
//
// Use: build the gains of all documents once (`document_gains`), the discounts once for the longest
// query (`discount_table`), the ideal DCG of each query once (`ideal_dcg`); per iteration only
// products of these remain.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace rankgrove {

// A cut-off that cuts nothing.
inline constexpr int64_t kNoCutoff = std::numeric_limits<int64_t>::max();

// Raises the error that a label is unfit; `what` names it, for example "label of row 7".
[[noreturn]] inline void reject_label(const std::string& what, double label,
                                      const std::string& why) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", label);
  throw std::invalid_argument(what + " (" + text.data() + ") " + why);
}

struct GainRule {
  enum class Kind { exponential, linear, table };
  Kind kind = Kind::exponential;
  std::vector<double> table;  // gain of label 0, 1, ..., only for Kind::table

  // Beyond this label 2^label - 1 is no longer an exact double.
  static constexpr double kMaxExponent = 53;

  // Throws std::invalid_argument where the label has no gain; `what()` names it.
  template <typename Describe>
  double operator()(double label, Describe&& what) const {
    if (!(label >= 0) || !std::isfinite(label)) {
      reject_label(what(), label, "is not a finite number of at least 0");
    }
    switch (kind) {
      case Kind::linear:
        return label;
      case Kind::table: {
        if (label != std::floor(label))
          reject_label(what(), label, "is not a whole number: a table of gains needs one");
        if (label >= static_cast<double>(table.size())) {
          reject_label(what(), label,
                       "lies beyond the table of gains, which ends at label " +
                           std::to_string(table.size() - 1));
        }
        return table[static_cast<size_t>(label)];
      }
      case Kind::exponential:
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

// Gains of documents, in the order of `labels`. `row_of(i)` is the number that an error shows for
// document i. Label is any number type.
template <typename Label, typename RowOf>
std::vector<double> document_gains(const GainRule& rule, const Label* labels, int64_t n,
                                   RowOf&& row_of) {
  // Small whole labels, the usual case, are looked up; whatever else goes through the rule.
  constexpr int kSmall = 32;
  std::array<double, kSmall> small{};
  const int known = rule.kind == GainRule::Kind::table
                        ? static_cast<int>(std::min<size_t>(rule.table.size(), kSmall))
                        : kSmall;
  for (int label = 0; label < known; ++label) small[label] = rule(label, [] { return ""; });
  std::vector<double> gains(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const auto label = static_cast<double>(labels[i]);
    if (label >= 0 && label < known && label == static_cast<double>(static_cast<int>(label))) {
      gains[i] = small[static_cast<int>(label)];
    } else {
      gains[i] = rule(label, [&] { return "label of row " + std::to_string(row_of(i)); });
    }
  }
  return gains;
}

struct DiscountRule {
  // log2:  1 / log2(r + 1), r = 1 for the top document
  // alpha: 1 / log2(r + 1)^power   (Ibrahim and Carman, equation 14)
  // beta:  1 / r^power             (Ibrahim and Carman, equation 15; Wang et al. 2013)
  // letor: 1 for r = 1 and 2, then 1 / log2(r), as in the LETOR and MSLR evaluation scripts
  enum class Kind { log2, alpha, beta, letor };
  Kind kind = Kind::log2;
  double power = 1.0;

  // Factor at a rank counted from 0.
  double operator()(int64_t rank) const {
    const double r = static_cast<double>(rank) + 1.0;
    switch (kind) {
      case Kind::alpha:
        return std::pow(std::log2(r + 1.0), -power);
      case Kind::beta:
        return std::pow(r, -power);
      case Kind::letor:
        return rank < 2 ? 1.0 : 1.0 / std::log2(r);
      case Kind::log2:
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

// The largest DCG@k that n documents allow. `discount` holds at least min(n, k) entries; `scratch`
// is overwritten (the largest min(n, k) gains come first, in descending order).
inline double ideal_dcg(const double* gains, int64_t n, const double* discount, int64_t k,
                        std::vector<double>& scratch) {
  const int64_t depth = std::min(n, k);
  scratch.assign(gains, gains + n);
  std::partial_sort(scratch.begin(), scratch.begin() + depth, scratch.end(), std::greater<>());
  double dcg = 0.0;
  for (int64_t rank = 0; rank < depth && scratch[rank] > 0; ++rank) {
    dcg += discount[rank] * scratch[rank];
  }
  return dcg;
}

// What becomes of documents of equal score.
enum class TieRule {
  input,    // in the order of the data
  average,  // the mean of the metric over all their orders
  worst,    // lower gain first
  best,     // higher gain first
};

}  // namespace rankgrove
