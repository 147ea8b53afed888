#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "bindings/bindings.hpp"
#include "bindings/communicators.hpp"
#include "bindings/query_arguments.hpp"
#include "objectives/lambda.hpp"
#include "objectives/listwise.hpp"
#include "objectives/pair_logit.hpp"
#include "objectives/plackett_luce.hpp"
#include "objectives/pointwise.hpp"
#include "objectives/stochasticfilter.hpp"
#include "objectives/stochasticrank.hpp"
#include "objectives/yetirank.hpp"

namespace rankgrove {
namespace {

const std::map<std::string, LambdaMetric> kLambdaMetrics = {
    {"ndcg", LambdaMetric::kNdcg},
    {"map", LambdaMetric::kAveragePrecision},
    {"err", LambdaMetric::kExpectedReciprocalRank},
    {"mrr", LambdaMetric::kReciprocalRank},
    {"ndcg-loss1", LambdaMetric::kNdcgLoss1},
    {"ndcg-loss2", LambdaMetric::kNdcgLoss2},
    {"ndcg-loss2++", LambdaMetric::kNdcgLoss2PlusPlus},
    {"arp-loss1", LambdaMetric::kArpLoss1},
    {"arp-loss2", LambdaMetric::kArpLoss2},
};

LambdaOptions make_lambda_options(const std::string& metric, int64_t k, int64_t truncation,
                                  double sigma, bool query_norm, bool difference_norm, double mu,
                                  double noise) {
  require(k >= 1, "k must be at least 1, not " + std::to_string(k));
  require(truncation >= 1, "truncation must be at least 1, not " + std::to_string(truncation));
  require(std::isfinite(sigma) && sigma > 0, "sigma must be a positive number");
  require(std::isfinite(mu) && mu >= 0, "mu must not be negative");
  require(std::isfinite(noise) && noise >= 0, "noise must not be negative");
  return {named(kLambdaMetrics, metric, "metric"),
          k,
          truncation,
          sigma,
          query_norm,
          difference_norm,
          mu,
          noise};
}

void lambda_gradients_checked(In<int64_t> offsets, In<double> scores, In<float> value,
                              std::optional<In<double>> weight, const LambdaOptions& options,
                              uint64_t seed, uint64_t iteration, int64_t first_query, int n_threads,
                              Out<float> gradients, Out<float> hessians,
                              std::optional<In<double>> better, std::optional<In<double>> worse,
                              std::optional<Out<double>> better_cost,
                              std::optional<Out<double>> worse_cost) {
  const size_t n = scores.shape(0);
  Queries queries = checked_queries(offsets, n);
  queries.first_number = first_query;
  require_length(value, n, "value");
  require_length(gradients, n, "gradients");
  require_length(hessians, n, "hessians");
  const double* weights = optional_data(weight, n, "weight");
  require(better.has_value() == worse.has_value(), "better and worse go together");
  require(better_cost.has_value() == worse_cost.has_value(), "costs go together");
  require(better.has_value() || !better_cost.has_value(), "costs need factors");
  PairFactors factors{optional_data(better, n, "better"), optional_data(worse, n, "worse")};
  if (better_cost) {
    require_length(*better_cost, n, "better_cost");
    require_length(*worse_cost, n, "worse_cost");
    factors.better_cost = better_cost->data();
    factors.worse_cost = worse_cost->data();
  }
  nb::gil_scoped_release unlocked;
  lambda_gradients(queries, scores.data(), value.data(), weights, options, factors, seed, iteration,
                   n_threads, gradients.data(), hessians.data());
}

void yetiloss_gradients_checked(In<int64_t> offsets, In<double> scores, In<float> value,
                                const std::string& metric, int64_t k,
                                std::optional<In<double>> weight, int64_t n_permutations,
                                uint64_t seed, uint64_t iteration, int64_t first_query,
                                int n_threads, Out<float> gradients, Out<float> hessians) {
  const size_t n = scores.shape(0);
  Queries queries = checked_queries(offsets, n);
  queries.first_number = first_query;
  require_length(value, n, "value");
  require_length(gradients, n, "gradients");
  require_length(hessians, n, "hessians");
  require(k >= 1, "k must be at least 1, not " + std::to_string(k));
  require(n_permutations >= 1,
          "n_permutations must be at least 1, not " + std::to_string(n_permutations));
  const LambdaMetric kind = named(kLambdaMetrics, metric, "metric");
  const double* weights = optional_data(weight, n, "weight");
  nb::gil_scoped_release unlocked;
  yetiloss_gradients(queries, scores.data(), value.data(), kind, k, weights, n_permutations, seed,
                     iteration, n_threads, gradients.data(), hessians.data());
}

void squared_error_gradients_checked(In<double> scores, In<double> target,
                                     std::optional<In<double>> weight, int n_threads,
                                     Out<float> gradients, std::optional<Out<float>> hessians) {
  const size_t n = scores.shape(0);
  require_length(target, n, "target");
  require_length(gradients, n, "gradients");
  if (hessians) require_length(*hessians, n, "hessians");
  const double* weights = optional_data(weight, n, "weight");
  nb::gil_scoped_release unlocked;
  squared_error_gradients(scores.data(), target.data(), weights, static_cast<int64_t>(n), n_threads,
                          gradients.data(), hessians ? hessians->data() : nullptr);
}

// The arguments that all objectives over lists share, checked.
struct ListArguments {
  ListArguments(const In<int64_t>& offsets, const In<double>& scores, const In<double>& gains,
                const std::optional<In<double>>& weight, const Out<float>& gradients,
                const Out<float>& hessians)
      : queries(checked_queries(offsets, scores.shape(0))),
        weight(optional_data(weight, scores.shape(0), "weight")) {
    require_length(gains, scores.shape(0), "gains");
    require_length(gradients, scores.shape(0), "gradients");
    require_length(hessians, scores.shape(0), "hessians");
  }
  Queries queries;
  const double* weight;
};

void centred_squared_error_gradients_checked(In<int64_t> offsets, In<double> scores,
                                             In<double> target, std::optional<In<double>> weight,
                                             int n_threads, Out<float> gradients,
                                             std::optional<Out<float>> hessians) {
  const ListArguments lists(offsets, scores, target, weight, gradients,
                            hessians ? *hessians : gradients);
  nb::gil_scoped_release unlocked;
  centred_squared_error_gradients(lists.queries, scores.data(), target.data(), lists.weight,
                                  n_threads, gradients.data(),
                                  hessians ? hessians->data() : nullptr);
}

void cross_entropy_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> target,
                                     std::optional<In<double>> weight, double beta, double damping,
                                     int n_threads, Out<float> gradients, Out<float> hessians) {
  const ListArguments lists(offsets, scores, target, weight, gradients, hessians);
  require(std::isfinite(beta) && beta > 0, "beta must be a positive number");
  require(std::isfinite(damping) && damping >= 0, "damping must not be negative");
  nb::gil_scoped_release unlocked;
  cross_entropy_gradients(lists.queries, scores.data(), target.data(), lists.weight, beta, damping,
                          n_threads, gradients.data(), hessians.data());
}

void shifted_logistic_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> target,
                                        std::optional<In<double>> weight, double alpha,
                                        int n_threads, Out<float> gradients, Out<float> hessians) {
  const ListArguments lists(offsets, scores, target, weight, gradients, hessians);
  require(alpha >= 0 && alpha <= 1, "alpha must lie in 0..1, not " + std::to_string(alpha));
  nb::gil_scoped_release unlocked;
  shifted_logistic_gradients(lists.queries, scores.data(), target.data(), lists.weight, alpha,
                             n_threads, gradients.data(), hessians.data());
}

void cross_entropy_ndcg_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> gains,
                                          std::optional<In<double>> weight, uint64_t seed,
                                          uint64_t iteration, int64_t first_query, int terms,
                                          int n_threads, Out<float> gradients,
                                          Out<float> hessians) {
  ListArguments lists(offsets, scores, gains, weight, gradients, hessians);
  lists.queries.first_number = first_query;
  require(terms >= 1 && terms <= 3, "terms must lie in 1..3, not " + std::to_string(terms));
  nb::gil_scoped_release unlocked;
  cross_entropy_ndcg_gradients(lists.queries, scores.data(), gains.data(), lists.weight, seed,
                               iteration, terms, n_threads, gradients.data(), hessians.data());
}

void cosine_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> gains,
                              In<double> norm, std::optional<In<double>> weight, int n_threads,
                              Out<float> gradients, Out<float> hessians) {
  const ListArguments lists(offsets, scores, gains, weight, gradients, hessians);
  require_length(norm, static_cast<size_t>(lists.queries.count), "norm");
  nb::gil_scoped_release unlocked;
  cosine_gradients(lists.queries, scores.data(), gains.data(), norm.data(), lists.weight, n_threads,
                   gradients.data(), hessians.data());
}

void yetirank_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> gains,
                                In<double> rank_weight, std::optional<In<double>> weight,
                                int64_t n_permutations, uint64_t seed, uint64_t iteration,
                                int64_t first_query, int n_threads, Out<float> gradients,
                                Out<float> hessians) {
  ListArguments lists(offsets, scores, gains, weight, gradients, hessians);
  lists.queries.first_number = first_query;
  require(static_cast<int64_t>(rank_weight.shape(0)) >= lists.queries.longest(),
          "rank_weight is shorter than the longest query");
  require(n_permutations >= 1,
          "n_permutations must be at least 1, not " + std::to_string(n_permutations));
  nb::gil_scoped_release unlocked;
  yetirank_gradients(lists.queries, scores.data(), gains.data(), rank_weight.data(), lists.weight,
                     n_permutations, seed, iteration, n_threads, gradients.data(), hessians.data());
}

void perturbed_rankings_checked(In<int64_t> offsets, In<double> scores, int64_t n_permutations,
                                uint64_t seed, uint64_t iteration, int64_t first_query,
                                int n_threads, Out<int32_t> orders) {
  Queries queries = checked_queries(offsets, scores.shape(0));
  queries.first_number = first_query;
  require(n_permutations >= 1,
          "n_permutations must be at least 1, not " + std::to_string(n_permutations));
  require_length(orders, scores.shape(0) * static_cast<size_t>(n_permutations), "orders");
  nb::gil_scoped_release unlocked;
  perturbed_rankings(queries, scores.data(), n_permutations, seed, iteration, n_threads,
                     orders.data());
}

void stochasticrank_gradients_checked(In<int64_t> offsets, In<double> scores, In<float> value,
                                      In<double> penalty, In<double> discount_drop,
                                      const std::string& metric, double sigma, double nu,
                                      double sfa, int64_t n_permutations,
                                      std::optional<In<double>> weight, uint64_t seed,
                                      uint64_t iteration, int64_t first_query, int n_threads,
                                      Out<float> gradients) {
  ListArguments lists(offsets, scores, penalty, weight, gradients, gradients);
  lists.queries.first_number = first_query;
  require_length(value, scores.shape(0), "value");
  require(std::isfinite(sigma) && sigma > 0, "sigma must be a positive number");
  require(std::isfinite(nu) && nu > 0, "nu must be a positive number");
  require(std::isfinite(sfa), "sfa must be finite");
  require(n_permutations >= 1,
          "n_permutations must be at least 1, not " + std::to_string(n_permutations));
  const SmoothingOptions options{named(kLambdaMetrics, metric, "metric"), sigma, nu, sfa,
                                 n_permutations};
  nb::gil_scoped_release unlocked;
  stochasticrank_gradients(lists.queries, scores.data(), value.data(), penalty.data(),
                           discount_drop.data(), static_cast<int64_t>(discount_drop.shape(0)),
                           options, lists.weight, seed, iteration, n_threads, gradients.data());
}

void stochasticfilter_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> labels,
                                        double sigma, std::optional<In<double>> weight,
                                        int n_threads, Out<float> gradients) {
  const ListArguments lists(offsets, scores, labels, weight, gradients, gradients);
  require(std::isfinite(sigma) && sigma > 0, "sigma must be a positive number");
  nb::gil_scoped_release unlocked;
  stochasticfilter_gradients(lists.queries, scores.data(), labels.data(), sigma, lists.weight,
                             n_threads, gradients.data());
}

void ranked_change_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> changes,
                                     std::optional<In<double>> weight, int64_t n_permutations,
                                     uint64_t seed, uint64_t iteration, int64_t first_query,
                                     int n_threads, Out<float> gradients, Out<float> hessians) {
  const size_t n = scores.shape(0);
  Queries queries = checked_queries(offsets, n);
  queries.first_number = first_query;
  require(n_permutations >= 1,
          "n_permutations must be at least 1, not " + std::to_string(n_permutations));
  require_length(changes, n * static_cast<size_t>(n_permutations), "changes");
  require_length(gradients, n, "gradients");
  require_length(hessians, n, "hessians");
  const double* weights = optional_data(weight, n, "weight");
  nb::gil_scoped_release unlocked;
  ranked_change_gradients(queries, scores.data(), changes.data(), weights, n_permutations, seed,
                          iteration, n_threads, gradients.data(), hessians.data());
}

void pair_logit_gradients_checked(In<int64_t> offsets, In<double> scores, In<double> labels,
                                  In<int32_t> order, std::optional<In<double>> weight, double power,
                                  int n_threads, Out<float> gradients, Out<float> hessians) {
  const ListArguments lists(offsets, scores, labels, weight, gradients, hessians);
  require_length(order, scores.shape(0), "order");
  for (int64_t q = 0; q < lists.queries.count; ++q) {
    const int32_t* begin = order.data() + lists.queries.offsets[q];
    require(std::all_of(begin, begin + lists.queries.size(q),
                        [&](int32_t i) { return i >= 0 && i < lists.queries.size(q); }),
            "order names a document that its query does not have");
  }
  require(std::isfinite(power) && power >= 0, "power must not be negative");
  nb::gil_scoped_release unlocked;
  pair_logit_gradients(lists.queries, scores.data(), labels.data(), order.data(), lists.weight,
                       power, n_threads, gradients.data(), hessians.data());
}

template <typename T>
using Rows = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void class_gradients(Rows<const double> scores, In<int32_t> classes,
                     std::optional<In<double>> weight, int32_t n_classes, bool ordinal,
                     int n_threads, Rows<float> gradients, Rows<float> hessians) {
  require(n_classes >= 2, "there must be at least two classes");
  const size_t rows = static_cast<size_t>(ordinal ? n_classes - 1 : n_classes);
  const size_t n = classes.shape(0);
  for (const auto& [shape0, shape1] : {std::pair{scores.shape(0), scores.shape(1)},
                                       std::pair{gradients.shape(0), gradients.shape(1)},
                                       std::pair{hessians.shape(0), hessians.shape(1)}}) {
    require(shape0 == rows && shape1 == n, "scores, gradients and hessians must have shape (" +
                                               std::to_string(rows) + ", " + std::to_string(n) +
                                               ")");
  }
  const double* weights = optional_data(weight, n, "weight");
  nb::gil_scoped_release unlocked;
  (ordinal ? ordinal_gradients : multiclass_gradients)(
      scores.data(), classes.data(), weights, n_classes, static_cast<int64_t>(n), n_threads,
      gradients.data(), hessians.data());
}

nb::ndarray<nb::numpy, double, nb::ndim<1>> expected_gain_checked(Rows<const double> scores,
                                                                  In<double> gains, bool ordinal,
                                                                  int n_threads) {
  require(gains.shape(0) >= 2, "there must be at least two grades");
  require(scores.shape(0) == gains.shape(0) - (ordinal ? 1 : 0),
          "scores have " + std::to_string(scores.shape(0)) + " rows for " +
              std::to_string(gains.shape(0)) + " grades");
  std::vector<double> expected(scores.shape(1));
  {
    nb::gil_scoped_release unlocked;
    expected_gain(scores.data(), gains.data(), static_cast<int32_t>(gains.shape(0)), ordinal,
                  static_cast<int64_t>(expected.size()), n_threads, expected.data());
  }
  return to_numpy(std::move(expected));
}

std::unique_ptr<PlackettLuce> make_plackett_luce(In<int64_t> offsets, In<double> labels, int64_t k,
                                                 int64_t n_permutations, bool merge,
                                                 bool keep_equal, uint64_t seed,
                                                 int64_t first_query) {
  Queries queries = checked_queries(offsets, labels.shape(0));
  queries.first_number = first_query;
  require(k >= 1, "k must be at least 1, not " + std::to_string(k));
  require(n_permutations >= 1 && n_permutations <= 10000,
          "n_permutations must lie in 1..10000, not " + std::to_string(n_permutations));
  nb::gil_scoped_release unlocked;
  return std::make_unique<PlackettLuce>(queries, labels.data(), k, n_permutations, merge,
                                        keep_equal, seed);
}

void plackett_luce_gradients(const PlackettLuce& model, In<double> scores,
                             std::optional<In<double>> weight, int n_threads,
                             Out<float> gradients) {
  const auto n = static_cast<size_t>(model.n_documents());
  require_length(scores, n, "scores");
  require_length(gradients, n, "gradients");
  const double* weights = optional_data(weight, n, "weight");
  nb::gil_scoped_release unlocked;
  model.gradients(scores.data(), weights, n_threads, gradients.data());
}

nb::ndarray<nb::numpy, double, nb::ndim<1>> plackett_luce_losses(const PlackettLuce& model,
                                                                 In<double> scores, int n_threads,
                                                                 Out<double> gradients) {
  const auto n = static_cast<size_t>(model.n_documents());
  require_length(scores, n, "scores");
  require_length(gradients, n, "gradients");
  std::vector<double> losses;
  {
    nb::gil_scoped_release unlocked;
    losses = model.losses(scores.data(), n_threads, gradients.data());
  }
  return to_numpy(std::move(losses));
}

nb::ndarray<nb::numpy, double, nb::ndim<1>> plackett_luce_leaf_values(
    const PlackettLuce& model, In<double> scores, std::optional<In<double>> weight,
    In<int32_t> leaf_of_row, int32_t n_nodes, double l2, double max_step,
    const nb::object& communicator, int64_t n_rows, int n_threads) {
  const auto n = static_cast<size_t>(model.n_documents());
  require_length(scores, n, "scores");
  require_length(leaf_of_row, n, "leaf_of_row");
  require(n_nodes >= 1, "n_nodes must be at least 1, not " + std::to_string(n_nodes));
  const int32_t* last = std::max_element(leaf_of_row.data(), leaf_of_row.data() + n);
  require(n == 0 || *last < n_nodes, "a document lies in a node beyond the last");
  require(l2 >= 0 && max_step > 0, "l2 must not be negative, and max_step must be positive");
  const double* weights = optional_data(weight, n, "weight");
  const RowShare share{as_communicator(communicator), 0, n_rows};
  std::vector<double> values;
  {
    nb::gil_scoped_release unlocked;
    values = model.leaf_values(scores.data(), weights, leaf_of_row.data(), n_nodes, {l2, max_step},
                               share, n_threads);
  }
  return to_numpy(std::move(values));
}

}  // namespace

void bind_objectives(nb::module_& m) {
  m.def("squared_error_gradients", &squared_error_gradients_checked, nb::arg("scores"),
        nb::arg("target"), nb::arg("weight").none(), nb::arg("n_threads"),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert().none(),
        "Fill the gradients of least squares.");
  m.def("class_gradients", &class_gradients, nb::arg("scores"), nb::arg("classes"),
        nb::arg("weight").none(), nb::arg("n_classes"), nb::arg("ordinal"), nb::arg("n_threads"),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        "Fill the gradients of the multi-class or the ordinal logistic loss.");
  m.def("expected_gain", &expected_gain_checked, nb::arg("scores"), nb::arg("gains"),
        nb::arg("ordinal"), nb::arg("n_threads"),
        "Expected gain of each document under the multi-class or the ordinal logistic model.");
  m.def("centred_squared_error_gradients", &centred_squared_error_gradients_checked,
        nb::arg("offsets"), nb::arg("scores"), nb::arg("target"), nb::arg("weight").none(),
        nb::arg("n_threads"), nb::arg("gradients").noconvert(),
        nb::arg("hessians").noconvert().none(),
        "Fill the gradients of least squares on residuals minus their mean in the query.");
  m.def("shifted_logistic_gradients", &shifted_logistic_gradients_checked, nb::arg("offsets"),
        nb::arg("scores"), nb::arg("target"), nb::arg("weight").none(), nb::arg("alpha"),
        nb::arg("n_threads"), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        "Fill the gradients of the logistic loss, in part with the best shift of each query.");
  m.def("cross_entropy_gradients", &cross_entropy_gradients_checked, nb::arg("offsets"),
        nb::arg("scores"), nb::arg("target"), nb::arg("weight").none(), nb::arg("beta"),
        nb::arg("damping"), nb::arg("n_threads"), nb::arg("gradients").noconvert(),
        nb::arg("hessians").noconvert(),
        "Fill the gradients of the cross entropy between a target and the softmax of scores.");
  m.def("cross_entropy_ndcg_gradients", &cross_entropy_ndcg_gradients_checked, nb::arg("offsets"),
        nb::arg("scores"), nb::arg("gains"), nb::arg("weight").none(), nb::arg("seed"),
        nb::arg("iteration"), nb::arg("first_query"), nb::arg("terms"), nb::arg("n_threads"),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        "Fill the gradients of the stochastic cross entropy that bounds NDCG.");
  m.def("cosine_gradients", &cosine_gradients_checked, nb::arg("offsets"), nb::arg("scores"),
        nb::arg("gains"), nb::arg("norm"), nb::arg("weight").none(), nb::arg("n_threads"),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        "Fill the gradients of the cosine distance between scores and gains.");
  m.def("yetirank_gradients", &yetirank_gradients_checked, nb::arg("offsets"), nb::arg("scores"),
        nb::arg("gains"), nb::arg("rank_weight"), nb::arg("weight").none(),
        nb::arg("n_permutations"), nb::arg("seed"), nb::arg("iteration"), nb::arg("first_query"),
        nb::arg("n_threads"), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        "Fill the gradients of neighbours in perturbed rankings.");
  m.def("yetiloss_gradients", &yetiloss_gradients_checked, nb::arg("offsets"), nb::arg("scores"),
        nb::arg("value"), nb::arg("metric"), nb::arg("k"), nb::arg("weight").none(),
        nb::arg("n_permutations"), nb::arg("seed"), nb::arg("iteration"), nb::arg("first_query"),
        nb::arg("n_threads"), nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        "Fill the gradients of neighbours in perturbed rankings, weighted by a metric's change.");
  m.def("stochasticrank_gradients", &stochasticrank_gradients_checked, nb::arg("offsets"),
        nb::arg("scores"), nb::arg("value"), nb::arg("penalty"), nb::arg("discount_drop"),
        nb::arg("metric"), nb::arg("sigma"), nb::arg("nu"), nb::arg("sfa"),
        nb::arg("n_permutations"), nb::arg("weight").none(), nb::arg("seed"), nb::arg("iteration"),
        nb::arg("first_query"), nb::arg("n_threads"), nb::arg("gradients").noconvert(),
        "Fill the gradients of a metric that noise on the scores smooths.");
  m.def("stochasticfilter_gradients", &stochasticfilter_gradients_checked, nb::arg("offsets"),
        nb::arg("scores"), nb::arg("labels"), nb::arg("sigma"), nb::arg("weight").none(),
        nb::arg("n_threads"), nb::arg("gradients").noconvert(),
        "Fill the gradients of the expected DCG of documents that are kept by their scores.");
  m.def("perturbed_rankings", &perturbed_rankings_checked, nb::arg("offsets"), nb::arg("scores"),
        nb::arg("n_permutations"), nb::arg("seed"), nb::arg("iteration"), nb::arg("first_query"),
        nb::arg("n_threads"), nb::arg("orders").noconvert(),
        "Fill the perturbed rankings of YetiRank: the documents of each query by rank.");
  m.def("ranked_change_gradients", &ranked_change_gradients_checked, nb::arg("offsets"),
        nb::arg("scores"), nb::arg("changes"), nb::arg("weight").none(), nb::arg("n_permutations"),
        nb::arg("seed"), nb::arg("iteration"), nb::arg("first_query"), nb::arg("n_threads"),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        "Fill the gradients of neighbours in perturbed rankings, whose changes are given.");
  m.def("pair_logit_gradients", &pair_logit_gradients_checked, nb::arg("offsets"),
        nb::arg("scores"), nb::arg("labels"), nb::arg("order"), nb::arg("weight").none(),
        nb::arg("power"), nb::arg("n_threads"), nb::arg("gradients").noconvert(),
        nb::arg("hessians").noconvert(),
        "Fill the gradients of the pairwise logistic loss over all pairs.");
  nb::class_<PlackettLuce>(m, "PlackettLuce",
                           "Ground-truth permutations of queries and their likelihood.")
      .def(nb::new_(&make_plackett_luce), nb::arg("offsets"), nb::arg("labels"), nb::arg("k"),
           nb::arg("n_permutations"), nb::arg("merge"), nb::arg("keep_equal"), nb::arg("seed"),
           nb::arg("first_query") = 0)
      .def_prop_ro("n_contexts", &PlackettLuce::n_contexts, "Contexts that are stored.")
      .def_prop_ro("n_unmerged_contexts", &PlackettLuce::n_unmerged_contexts,
                   "Contexts that the permutations have together.")
      .def("gradients", &plackett_luce_gradients, nb::arg("scores"), nb::arg("weight").none(),
           nb::arg("n_threads"), nb::arg("gradients").noconvert(),
           "Fill the gradients of minus the log-likelihood.")
      .def("losses", &plackett_luce_losses, nb::arg("scores"), nb::arg("n_threads"),
           nb::arg("gradients").noconvert(),
           "Fill the gradients in double precision; return minus the log-likelihood per query.")
      .def("leaf_values", &plackett_luce_leaf_values, nb::arg("scores"), nb::arg("weight").none(),
           nb::arg("leaf_of_row"), nb::arg("n_nodes"), nb::arg("l2"), nb::arg("max_step"),
           nb::arg("communicator").none(), nb::arg("n_rows"), nb::arg("n_threads"),
           "Newton step of each leaf, from the documents of all workers.");
  nb::class_<LambdaOptions>(m, "LambdaOptions", "What LambdaMART optimises, checked.")
      .def(nb::new_(&make_lambda_options), nb::kw_only(), nb::arg("metric"), nb::arg("k"),
           nb::arg("truncation"), nb::arg("sigma"), nb::arg("query_norm"),
           nb::arg("difference_norm"), nb::arg("mu") = 0.0, nb::arg("noise") = 0.0);
  m.def("lambda_gradients", &lambda_gradients_checked, nb::arg("offsets"), nb::arg("scores"),
        nb::arg("value"), nb::arg("weight").none(), nb::arg("options"), nb::arg("seed"),
        nb::arg("iteration"), nb::arg("first_query"), nb::arg("n_threads"),
        nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(),
        nb::arg("better").none() = nb::none(), nb::arg("worse").none() = nb::none(),
        nb::arg("better_cost").noconvert().none() = nb::none(),
        nb::arg("worse_cost").noconvert().none() = nb::none(),
        "Fill LambdaMART gradients and Hessians; add the costs of pairs with factors to those "
        "given.");
}

}  // namespace rankgrove
