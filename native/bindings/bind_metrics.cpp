#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "bindings/bindings.hpp"
#include "metrics/judged_queries.hpp"
#include "metrics/metric_families.hpp"
#include "metrics/query_metric.hpp"
#include "metrics/ranking.hpp"

namespace rankgrove {

namespace {

using Queries = std::shared_ptr<const JudgedQueries>;
using Values = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

void raise_label_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const LabelError& unfit) {
    const nb::object type = nb::module_::import_("rankgrove.errors").attr("LabelError");
    const nb::object value = type(unfit.place, unfit.label, unfit.reason);
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

// Offsets that start at 0, never fall and end at the number of labels.
void require_offsets(const In<int64_t>& offsets, int64_t n) {
  require(offsets.size() >= 1 && offsets(0) == 0 && offsets(offsets.size() - 1) == n,
          "query offsets must run from 0 to the number of labels, " + std::to_string(n));
  for (size_t q = 0; q + 1 < offsets.size(); ++q) {
    const int64_t size = offsets(q + 1) - offsets(q);
    if (size < 0)
      throw std::invalid_argument("offsets of query " + std::to_string(q) + " decrease");
    if (size > std::numeric_limits<int32_t>::max()) {
      throw std::invalid_argument("query " + std::to_string(q) +
                                  " has more than 2^31 - 1 documents");
    }
  }
}

GainRule::Kind gain_kind(const std::string& name) {
  return named<GainRule::Kind>({{"exp", GainRule::Kind::kExponential},
                                {"linear", GainRule::Kind::kLinear},
                                {"table", GainRule::Kind::kTable}},
                               name, "gain");
}

LabelValue gain_value(const std::string& kind, std::vector<double> table) {
  for (const double gain : table) {
    require(std::isfinite(gain) && gain >= 0,
            "gains must be finite numbers of at least 0, not " + std::to_string(gain));
  }
  return LabelValue::gain({gain_kind(kind), std::move(table)});
}

// Values of labels, in their order. There are few labels: those seen before are looked up.
Values label_values(const LabelValue& value_of, In<double> labels) {
  std::vector<double> values(labels.size());
  std::unordered_map<double, double> known;
  for (size_t i = 0; i < values.size(); ++i) {
    const double label = labels.data()[i];
    if (i > 0 && label == labels.data()[i - 1]) {
      values[i] = values[i - 1];
      continue;
    }
    const auto found = known.find(label);
    values[i] = found != known.end() ? found->second : value_of(label, [] { return "label"; });
    if (found == known.end() && known.size() < 1024) known.emplace(label, values[i]);
  }
  return to_numpy(std::move(values));
}

Values ideal_dcg_of_queries(In<int64_t> offsets, In<double> gains, In<double> discounts) {
  const auto n = static_cast<int64_t>(gains.size());
  require_offsets(offsets, n);
  std::vector<double> ideal(offsets.size() - 1);
  std::vector<double> scratch;
  for (size_t q = 0; q < ideal.size(); ++q) {
    ideal[q] = ideal_dcg(gains.data() + offsets(q), offsets(q + 1) - offsets(q), discounts.data(),
                         static_cast<int64_t>(discounts.size()), scratch);
  }
  return to_numpy(std::move(ideal));
}

std::shared_ptr<JudgedQueries> judged_queries(In<double> labels, In<int64_t> offsets,
                                              std::optional<In<int64_t>> order,
                                              bool partial_rankings) {
  const auto n = static_cast<int64_t>(labels.size());
  require_offsets(offsets, n);
  auto queries = std::make_shared<JudgedQueries>();
  queries->partial_rankings = partial_rankings;
  queries->offsets.assign(offsets.data(), offsets.data() + offsets.size());
  if (order) {
    require(static_cast<int64_t>(order->size()) == n, "the row order must list every row once");
    queries->order.assign(order->data(), order->data() + n);
    for (int64_t row : queries->order) {
      if (row < 0 || row >= n) {
        throw std::invalid_argument("row " + std::to_string(row) +
                                    " in the row order does not exist");
      }
    }
  }
  nb::gil_scoped_release release;
  queries->set_labels(labels.data());
  return queries;
}

ListRules list_rules(std::optional<int64_t> k, const std::string& ties,
                     const std::string& short_lists, double empty) {
  ListRules rules;
  require(!k || *k >= 1, "k must be at least 1");
  rules.k = k.value_or(kWholeList);
  rules.ties = named<TieRule>({{"input", TieRule::kInput},
                               {"average", TieRule::kAverage},
                               {"worst", TieRule::kWorst},
                               {"best", TieRule::kBest}},
                              ties, "tie rule");
  rules.short_lists = named<ShortRule>(
      {{"pad", ShortRule::kPad}, {"cut", ShortRule::kCut}, {"zero", ShortRule::kZero}}, short_lists,
      "rule for short lists");
  rules.empty = empty;
  return rules;
}

DiscountRule discount_rule(const std::string& kind, double power) {
  using Kind = DiscountRule::Kind;
  return {named<Kind>({{"log2", Kind::kLog2},
                       {"alpha", Kind::kAlpha},
                       {"beta", Kind::kBeta},
                       {"letor", Kind::kLetor}},
                      kind, "discount"),
          power};
}

// Weights of ranks: as many as the longest query, cut at k, can use.
std::vector<double> rank_weights(const Queries& queries, In<double> weights,
                                 const ListRules& rules) {
  const int64_t needed = std::min(queries->longest(), rules.k);
  require(static_cast<int64_t>(weights.size()) >= needed,
          "there must be a weight for each of " + std::to_string(needed) + " ranks");
  return {weights.data(), weights.data() + weights.size()};
}

template <typename Score>
void require_scores(const JudgedQueries& queries, const In<Score>& scores) {
  const int64_t n_rows = queries.n_rows();
  require(static_cast<int64_t>(scores.size()) == n_rows,
          "there are " + std::to_string(scores.size()) + " scores but " + std::to_string(n_rows) +
              " judged rows");
  int64_t bad_row = -1;
  {
    nb::gil_scoped_release release;
    bad_row = first_nan(scores.data(), n_rows);
  }
  require(bad_row < 0, "score of row " + std::to_string(bad_row) + " is NaN");
}

template <typename Score>
Values evaluate(const std::vector<std::shared_ptr<QueryMetric>>& metrics, In<Score> scores,
                int n_threads) {
  require(!metrics.empty(), "no metric to evaluate");
  std::vector<const QueryMetric*> pointers;
  for (const auto& metric : metrics) {
    require(metric->queries() == metrics.front()->queries(), "metrics must share their judgments");
    pointers.push_back(metric.get());
  }
  require_scores(*metrics.front()->queries(), scores);
  std::vector<double> values;
  {
    nb::gil_scoped_release release;
    values = evaluate_metrics(pointers, scores.data(), n_threads);
  }
  return to_numpy(std::move(values));
}

template <typename Score>
Values ranked_labels_checked(const JudgedQueries& queries, In<Score> scores) {
  require_scores(queries, scores);
  return to_numpy(ranked_labels(queries, scores.data()));
}

template <typename Score>
Values grouped_scores(const JudgedQueries& queries, In<Score> scores) {
  require_scores(queries, scores);
  std::vector<double> grouped(queries.n_rows());
  for (int64_t i = 0; i < queries.n_rows(); ++i) grouped[i] = scores.data()[queries.row(i)];
  return to_numpy(std::move(grouped));
}

// The highest or the lowest label; NaN without rows.
double end_label(const JudgedQueries& queries, bool highest) {
  if (queries.labels.empty()) return std::numeric_limits<double>::quiet_NaN();
  return highest ? queries.labels.back() : queries.labels.front();
}

Values grouped_labels(const JudgedQueries& queries) {
  std::vector<double> labels(queries.n_rows());
  for (int64_t i = 0; i < queries.n_rows(); ++i) labels[i] = queries.labels[queries.grades[i]];
  return to_numpy(std::move(labels));
}

void bind_judgments(nb::module_& m) {
  nb::class_<JudgedQueries>(m, "JudgedQueries", "Labels of a data set, grouped by query.")
      .def(nb::new_(&judged_queries), nb::arg("labels"), nb::arg("offsets"),
           nb::arg("order").none() = nb::none(), nb::arg("partial_rankings") = false)
      .def_prop_ro("n_queries", &JudgedQueries::n_queries)
      .def_prop_ro("n_rows", &JudgedQueries::n_rows)
      .def_prop_ro("lowest_label", [](const JudgedQueries& q) { return end_label(q, false); })
      .def_prop_ro("highest_label", [](const JudgedQueries& q) { return end_label(q, true); })
      .def("grouped_labels", &grouped_labels, "Labels, query by query.")
      .def_prop_ro("longest", &JudgedQueries::longest);

  nb::class_<LabelValue>(m, "LabelValue", "The value of a document of some label to a metric.")
      .def_static("gain", &gain_value, nb::arg("kind"), nb::arg("table"))
      .def_static("relevance", &LabelValue::relevance, nb::arg("threshold"))
      .def_static(
          "satisfaction",
          [](const std::string& kind, double max_grade) {
            return LabelValue::satisfaction(gain_kind(kind), max_grade);
          },
          nb::arg("kind"), nb::arg("max_grade"))
      .def("of", &label_values, nb::arg("labels"), "The value of each label.");

  m.def(
      "discount_table",
      [](const std::string& kind, double power, int64_t n) {
        return to_numpy(discount_table(discount_rule(kind, power), n));
      },
      nb::arg("kind"), nb::arg("power"), nb::arg("n"), "Factor of each of the first n ranks.");

  m.def("ideal_dcg", &ideal_dcg_of_queries, nb::arg("offsets"), nb::arg("gains"),
        nb::arg("discounts"), "Largest sum of discount x gain that each query allows.");
}

// Metrics with weights of ranks.
void bind_gain_metrics(nb::module_& m) {
  m.def(
      "cumulated_gain",
      [](Queries queries, const LabelValue& value_of, In<double> weights,
         const std::string& divisor, std::optional<int64_t> k, const std::string& ties,
         const std::string& short_lists, double empty) -> std::shared_ptr<QueryMetric> {
        using Divisor = CumulatedGain::Divisor;
        const ListRules rules = list_rules(k, ties, short_lists, empty);
        const auto divisor_kind = named<Divisor>({{"none", Divisor::kNone},
                                                  {"ideal", Divisor::kIdeal},
                                                  {"positive", Divisor::kPositive},
                                                  {"k", Divisor::kK}},
                                                 divisor, "divisor");
        auto table = rank_weights(queries, weights, rules);
        nb::gil_scoped_release release;
        return std::make_shared<CumulatedGain>(queries, queries->grade_values(value_of),
                                               std::move(table), divisor_kind, rules);
      },
      nb::arg("queries"), nb::arg("value_of"), nb::arg("weights"), nb::arg("divisor"),
      nb::kw_only(), nb::arg("k").none(), nb::arg("ties"), nb::arg("short_lists"),
      nb::arg("empty"));

  m.def(
      "mean_ndcg",
      [](Queries queries, const LabelValue& value_of, In<double> weights, std::optional<int64_t> k,
         const std::string& ties, double empty) -> std::shared_ptr<QueryMetric> {
        const ListRules rules = list_rules(k, ties, "pad", empty);
        auto table = rank_weights(queries, weights, rules);
        nb::gil_scoped_release release;
        return std::make_shared<MeanNdcg>(queries, queries->grade_values(value_of),
                                          std::move(table), rules);
      },
      nb::arg("queries"), nb::arg("value_of"), nb::arg("weights"), nb::kw_only(),
      nb::arg("k").none(), nb::arg("ties"), nb::arg("empty"));
}

// Metrics of the ranks of relevant documents that have no other options than a list's.
template <typename Metric>
void bind_relevance_metric(nb::module_& m, const char* name) {
  m.def(
      name,
      [](Queries queries, const LabelValue& value_of, std::optional<int64_t> k,
         const std::string& ties, double empty) -> std::shared_ptr<QueryMetric> {
        const ListRules rules = list_rules(k, ties, "pad", empty);
        nb::gil_scoped_release release;
        return std::make_shared<Metric>(queries, queries->grade_values(value_of), rules);
      },
      nb::arg("queries"), nb::arg("value_of"), nb::kw_only(), nb::arg("k").none(), nb::arg("ties"),
      nb::arg("empty"));
}

void bind_other_metrics(nb::module_& m) {
  m.def(
      "average_precision",
      [](Queries queries, const LabelValue& value_of, bool cut_divisor, std::optional<int64_t> k,
         const std::string& ties, double empty) -> std::shared_ptr<QueryMetric> {
        const ListRules rules = list_rules(k, ties, "pad", empty);
        nb::gil_scoped_release release;
        return std::make_shared<AveragePrecision>(queries, queries->grade_values(value_of),
                                                  cut_divisor, rules);
      },
      nb::arg("queries"), nb::arg("value_of"), nb::kw_only(), nb::arg("cut_divisor"),
      nb::arg("k").none(), nb::arg("ties"), nb::arg("empty"));

  bind_relevance_metric<ReciprocalRank>(m, "reciprocal_rank");
  bind_relevance_metric<ExpectedReciprocalRank>(m, "expected_reciprocal_rank");

  m.def(
      "root_mean_squared_error",
      [](Queries queries) -> std::shared_ptr<QueryMetric> {
        return std::make_shared<RootMeanSquaredError>(queries);
      },
      nb::arg("queries"));

  m.def(
      "kendall_tau",
      [](Queries queries, bool correct_ties, double empty) -> std::shared_ptr<QueryMetric> {
        return std::make_shared<KendallTau>(queries, correct_ties, empty);
      },
      nb::arg("queries"), nb::kw_only(), nb::arg("correct_ties"), nb::arg("empty"));

  m.def(
      "pair_accuracy",
      [](Queries queries, double empty) -> std::shared_ptr<QueryMetric> {
        return std::make_shared<PairAccuracy>(queries, empty);
      },
      nb::arg("queries"), nb::kw_only(), nb::arg("empty"));

  m.def(
      "correlation",
      [](Queries queries, bool of_ranks, double empty) -> std::shared_ptr<QueryMetric> {
        nb::gil_scoped_release release;
        return std::make_shared<Correlation>(queries, of_ranks, empty);
      },
      nb::arg("queries"), nb::kw_only(), nb::arg("of_ranks"), nb::arg("empty"));
}

void bind_evaluation(nb::module_& m) {
  m.def("evaluate_metrics", &evaluate<double>, nb::arg("metrics"), nb::arg("scores").noconvert(),
        nb::arg("n_threads"),
        "Values of each metric for each query, metric by metric; NaN marks a skipped query.");
  m.def("evaluate_metrics", &evaluate<float>, nb::arg("metrics"), nb::arg("scores").noconvert(),
        nb::arg("n_threads"));

  const char* ranked_doc = "Labels of each query from the best score to the worst.";
  m.def("ranked_labels", &ranked_labels_checked<double>, nb::arg("queries"),
        nb::arg("scores").noconvert(), ranked_doc);
  m.def("ranked_labels", &ranked_labels_checked<float>, nb::arg("queries"),
        nb::arg("scores").noconvert());
  m.def("grouped_scores", &grouped_scores<double>, nb::arg("queries"),
        nb::arg("scores").noconvert(), "Scores as float64, query by query.");
  m.def("grouped_scores", &grouped_scores<float>, nb::arg("queries"),
        nb::arg("scores").noconvert());

  m.def(
      "mean_over_queries",
      [](In<double> values, std::optional<In<double>> weights) {
        require(!weights || weights->size() == values.size(), "one weight per query is needed");
        return mean_over_queries(values.data(), weights ? weights->data() : nullptr,
                                 static_cast<int64_t>(values.size()));
      },
      nb::arg("values"), nb::arg("weights").none() = nb::none(),
      "Weighted mean of the values that are not NaN.");
}

}  // namespace

void bind_metrics(nb::module_& m) {
  nb::register_exception_translator(&raise_label_error);
  nb::class_<QueryMetric>(m, "QueryMetric", "A metric prepared for a set of judged queries.");
  bind_judgments(m);
  bind_gain_metrics(m);
  bind_other_metrics(m);
  bind_evaluation(m);
}

}  // namespace rankgrove
