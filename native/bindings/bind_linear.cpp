#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/query_arguments.hpp"
#include "linear/features.hpp"
#include "linear/line_values.hpp"
#include "linear/pair_hinge.hpp"
#include "objectives/pair_potentials.hpp"

namespace rankgrove {
namespace {

using Values = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

Normalisation normalisation_of(const std::string& name) {
  static const std::map<std::string, Normalisation> names = {
      {"none", Normalisation::kNone},
      {"query-minmax", Normalisation::kMinmax},
      {"query-zscore", Normalisation::kZscore}};
  const auto found = names.find(name);
  require(found != names.end(), "unknown normalisation '" + name + "'");
  return found->second;
}

template <typename T>
FeatureView feature_view(const InMatrix<T>& x) {
  FeatureView view{
      nullptr,     nullptr,    static_cast<int64_t>(x.shape(0)), static_cast<int64_t>(x.shape(1)),
      x.stride(0), x.stride(1)};
  if constexpr (std::is_same_v<T, float>) {
    view.floats = x.data();
  } else {
    view.doubles = x.data();
  }
  return view;
}

template <typename T>
std::unique_ptr<LinearFeatures> make_features(InMatrix<T> x, In<float> fill, In<int64_t> offsets,
                                              std::optional<In<int64_t>> order,
                                              const std::string& normalisation, bool keep_scales,
                                              int n_threads) {
  const FeatureView view = feature_view(x);
  const size_t n_rows = order ? order->shape(0) : static_cast<size_t>(view.n_rows);
  const Queries queries = checked_queries(offsets, n_rows);
  require_length(fill, static_cast<size_t>(view.n_features), "fill");
  std::vector<float> fills(fill.data(), fill.data() + fill.shape(0));
  require(std::all_of(fills.begin(), fills.end(), [](float v) { return std::isfinite(v); }),
          "fill must be finite");
  std::vector<int64_t> rows;
  if (order) {
    rows.assign(order->data(), order->data() + order->shape(0));
    const bool exist = std::all_of(rows.begin(), rows.end(),
                                   [&](int64_t row) { return row >= 0 && row < view.n_rows; });
    require(exist, "order names a row that does not exist");
  }
  const Normalisation by = normalisation_of(normalisation);
  nb::gil_scoped_release unlocked;
  return std::make_unique<LinearFeatures>(
      view, std::move(fills),
      std::vector<int64_t>(queries.offsets, queries.offsets + queries.count + 1), std::move(rows),
      by, keep_scales, n_threads);
}

Values feature_scores(const LinearFeatures& features, In<double> weights, int n_threads) {
  require_length(weights, static_cast<size_t>(features.n_features()), "weights");
  std::vector<double> scores(features.n_rows());
  {
    nb::gil_scoped_release unlocked;
    features.scores(weights.data(), n_threads, scores.data());
  }
  return to_numpy(std::move(scores));
}

Values feature_sums(const LinearFeatures& features, In<double> factors, int n_threads) {
  require_length(factors, static_cast<size_t>(features.n_rows()), "factors");
  std::vector<double> sums;
  {
    nb::gil_scoped_release unlocked;
    sums = features.sums(factors.data(), n_threads);
  }
  return to_numpy(std::move(sums));
}

Values feature_column(const LinearFeatures& features, int64_t feature, int n_threads) {
  require(feature >= 0 && feature < features.n_features(), "no such feature");
  std::vector<double> column(features.n_rows());
  {
    nb::gil_scoped_release unlocked;
    features.column(feature, n_threads, column.data());
  }
  return to_numpy(std::move(column));
}

Values feature_spreads(const LinearFeatures& features, int n_threads) {
  std::vector<double> spreads;
  {
    nb::gil_scoped_release unlocked;
    spreads = features.spreads(n_threads);
  }
  return to_numpy(std::move(spreads));
}

Values line_values_checked(const QueryMetric& metric, In<double> scores, In<double> direction,
                           In<double> steps, int n_threads) {
  const auto n = static_cast<size_t>(metric.queries()->n_rows());
  require_length(scores, n, "scores");
  require_length(direction, n, "direction");
  std::vector<double> values;
  {
    nb::gil_scoped_release unlocked;
    values = line_values(metric, scores.data(), direction.data(), steps.data(),
                         static_cast<int64_t>(steps.shape(0)), n_threads);
  }
  return to_numpy(std::move(values));
}

std::unique_ptr<PairHinge> make_pair_hinge(In<int64_t> offsets, In<double> labels,
                                           std::optional<In<double>> factors, bool squared,
                                           bool by_query) {
  const Queries queries = checked_queries(offsets, labels.shape(0));
  const double* own = optional_data(factors, labels.shape(0), "factors");
  nb::gil_scoped_release unlocked;
  return std::make_unique<PairHinge>(queries, labels.data(), own, squared, by_query);
}

std::unique_ptr<PairPotentials> make_potentials(In<int64_t> offsets, In<double> labels,
                                                std::optional<In<double>> factors) {
  const Queries queries = checked_queries(offsets, labels.shape(0));
  const double* own = optional_data(factors, labels.shape(0), "factors");
  nb::gil_scoped_release unlocked;
  return std::make_unique<PairPotentials>(queries, labels.data(), own);
}

// Fills one value per document from the scores and returns one value per query.
template <typename Objective, auto method>
Values by_query(const Objective& objective, In<double> scores, int n_threads, Out<double> filled) {
  const auto n = static_cast<size_t>(objective.n_documents());
  require_length(scores, n, "scores");
  require_length(filled, n, "the array to fill");
  std::vector<double> values;
  {
    nb::gil_scoped_release unlocked;
    values = (objective.*method)(scores.data(), n_threads, filled.data());
  }
  return to_numpy(std::move(values));
}

template <typename T>
void def_features(nb::module_& m) {
  m.def("linear_features", &make_features<T>, nb::keep_alive<0, 1>(), nb::arg("x").noconvert(),
        nb::arg("fill"), nb::arg("offsets"), nb::arg("order").none(), nb::arg("normalisation"),
        nb::arg("keep_scales"), nb::arg("n_threads"),
        "Features of a float32 or float64 matrix, which stays alive with them.");
}

}  // namespace

void bind_linear(nb::module_& m) {
  nb::class_<LinearFeatures>(m, "LinearFeatures",
                             "A feature matrix, filled and normalised without a copy.")
      .def("scores", &feature_scores, nb::arg("weights"), nb::arg("n_threads"),
           "Weighted sum of the features of each row, in grouped order.")
      .def("sums", &feature_sums, nb::arg("factors"), nb::arg("n_threads"),
           "Sum over rows of factor x value, by feature.")
      .def("column", &feature_column, nb::arg("feature"), nb::arg("n_threads"),
           "One feature, in grouped order.")
      .def("spreads", &feature_spreads, nb::arg("n_threads"),
           "Standard deviation of each feature within queries.");
  def_features<float>(m);
  def_features<double>(m);

  m.def("line_values", &line_values_checked, nb::arg("metric"), nb::arg("scores"),
        nb::arg("direction"), nb::arg("steps"), nb::arg("n_threads"),
        "Values of a metric for scores + step x direction: step by step, those of all queries.");

  nb::class_<PairHinge>(m, "PairHinge", "The hinge loss of the pairs of each query.")
      .def(nb::new_(&make_pair_hinge), nb::arg("offsets"), nb::arg("labels"),
           nb::arg("factors").none(), nb::arg("squared"), nb::arg("by_query"))
      .def("losses", &by_query<PairHinge, &PairHinge::losses>, nb::arg("scores"),
           nb::arg("n_threads"), nb::arg("gradients").noconvert(),
           "Fill the gradients; return the loss of each query.");

  nb::class_<PairPotentials>(m, "PairPotentials", "RankBoost's weights of pairs, per document.")
      .def(nb::new_(&make_potentials), nb::arg("offsets"), nb::arg("labels"),
           nb::arg("factors").none())
      .def("compute", &by_query<PairPotentials, &PairPotentials::compute>, nb::arg("scores"),
           nb::arg("n_threads"), nb::arg("potentials").noconvert(),
           "Fill the potentials; return the weight of the pairs of each query.");
}

}  // namespace rankgrove
