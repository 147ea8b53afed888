// What a document of some label is worth to a metric: a gain, relevance (0 or 1), or the
// probability that it satisfies the user.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "metrics/judged_queries.hpp"
#include "metrics/ranking.hpp"

namespace rankgrove {

class Worth {
 public:
  static Worth gain(GainRule rule) { return Worth(std::move(rule)); }
  // 1 for labels of at least `threshold`, else 0.
  static Worth relevance(double threshold) {
    Worth worth{GainRule{GainRule::Kind::linear, {}}};
    worth.threshold_ = threshold;
    worth.is_binary_ = true;
    return worth;
  }
  // (2^label - 1) / 2^max_grade, or label / max_grade.
  static Worth satisfaction(GainRule::Kind kind, double max_grade) {
    Worth worth{GainRule{kind, {}}};
    worth.max_grade_ = max_grade;
    worth.divisor_ = kind == GainRule::Kind::linear ? max_grade : std::exp2(max_grade);
    return worth;
  }

  // Worth of every document, in grouped order.
  std::vector<double> of(const JudgedQueries& queries) const {
    const auto row_of = [&](int64_t position) { return queries.row(position); };
    std::vector<double> worth =
        document_gains(rule_, queries.labels.data(), queries.n_rows(), row_of);
    if (is_binary_) {
      for (double& w : worth) w = w >= threshold_ ? 1.0 : 0.0;
    } else if (max_grade_ != kNoLimit) {
      for (int64_t i = 0; i < queries.n_rows(); ++i) {
        if (queries.labels[i] > max_grade_) {
          reject_label("label of row " + std::to_string(row_of(i)), queries.labels[i],
                       "exceeds max_grade, the highest label of the scale");
        }
        worth[i] /= divisor_;
      }
    }
    return worth;
  }

 private:
  explicit Worth(GainRule rule) : rule_(std::move(rule)) {}
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  GainRule rule_;
  bool is_binary_ = false;
  double threshold_ = 0.0;
  double max_grade_ = kNoLimit;
  double divisor_ = 1.0;
};

}  // namespace rankgrove
