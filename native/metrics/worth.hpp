// What a document of some label is worth to a metric: a gain, relevance (0 or 1), or the
// probability that it satisfies the user.
#pragma once

#include <cmath>
#include <limits>
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

  // Worth of each grade.
  std::vector<double> of(const JudgedQueries& queries) const {
    std::vector<double> worth;
    for (int64_t grade = 0; grade < queries.n_grades(); ++grade) {
      const double label = queries.labels[grade];
      const auto what = [&] { return "label of row " + std::to_string(queries.first_row[grade]); };
      const double gain = rule_(label, what);
      if (label > max_grade_) {
        reject_label(what(), label, "exceeds max_grade, the highest label of the scale");
      }
      worth.push_back(is_binary_ ? (label >= threshold_ ? 1.0 : 0.0) : gain / divisor_);
    }
    return worth;
  }

 private:
  explicit Worth(GainRule rule) : rule_(std::move(rule)) {}

  GainRule rule_;
  bool is_binary_ = false;
  double threshold_ = 0.0;
  double max_grade_ = std::numeric_limits<double>::infinity();
  double divisor_ = 1.0;
};

}  // namespace rankgrove
