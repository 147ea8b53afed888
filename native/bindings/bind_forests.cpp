#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "bindings/bindings.hpp"
#include "bindings/forest_inputs.hpp"
#include "bindings/shared_object.hpp"
#include "forests/criteria/registry.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/data/forest_sample.hpp"
#include "forests/growing/forest_grower.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/grown/out_of_bag.hpp"
#include "metrics/ranking.hpp"
#include "trees/tree.hpp"

namespace rankgrove {
namespace {

using namespace forests;

const std::map<std::string, Splitter> kSplitters = {
    {"best", Splitter::kBest},
    {"random-threshold", Splitter::kRandomThreshold},
    {"random", Splitter::kRandom},
};
const std::map<std::string, NodeOrder> kOrders = {
    {"breadth-first", NodeOrder::kBreadthFirst},
    {"depth-first", NodeOrder::kDepthFirst},
    {"random", NodeOrder::kRandom},
    {"biggest-first", NodeOrder::kBiggestFirst},
    {"most-relevant-first", NodeOrder::kMostRelevantFirst},
    {"best-first", NodeOrder::kBestFirst},
};
const std::map<std::string, MetricKind> kMetricKinds = {
    {"position", MetricKind::kPosition},
    {"average-precision", MetricKind::kAveragePrecision},
    {"reciprocal-rank", MetricKind::kReciprocalRank},
    {"expected-reciprocal-rank", MetricKind::kExpectedReciprocalRank},
    {"function", MetricKind::kFunction},
};
// The unit that is drawn, and whether with replacement.
const std::map<std::string, std::pair<SampleUnit, bool>> kSamplings = {
    {"queries", {SampleUnit::kQueries, false}},
    {"bootstrap-queries", {SampleUnit::kQueries, true}},
    {"documents", {SampleUnit::kDocuments, false}},
    {"bootstrap", {SampleUnit::kDocuments, true}},
};

template <typename T>
void require_at_least(const char* parameter, T value, T least) {
  require(value >= least, std::string(parameter) + " must be at least " + std::to_string(least) +
                              ", not " + std::to_string(value));
}

void require_fraction(const char* parameter, double value) {
  require(value > 0 && value <= 1,
          std::string(parameter) + " must lie in (0, 1], not " + std::to_string(value));
}

std::shared_ptr<ForestFeatures> make_features(std::shared_ptr<const BinnedMatrix> binned,
                                              In<int64_t> offsets, In<float> feature_min,
                                              In<float> feature_max, int n_threads) {
  const auto n_features = static_cast<size_t>(binned->n_features());
  require(feature_min.shape(0) == n_features && feature_max.shape(0) == n_features,
          "extreme values must be given for every feature");
  std::vector<int64_t> own_offsets = copied(offsets);
  require_offsets(own_offsets, binned->n_rows);
  nb::gil_scoped_release unlocked;
  return std::make_shared<ForestFeatures>(
      make_forest_features(std::move(binned), std::move(own_offsets), feature_min.data(),
                           feature_max.data(), n_threads));
}

std::shared_ptr<BoundTargets> make_targets(std::shared_ptr<const ForestFeatures> features,
                                           In<double> target, std::optional<In<uint8_t>> label,
                                           std::optional<In<double>> class_value,
                                           std::optional<In<double>> weight) {
  auto bound = std::make_shared<BoundTargets>();
  const auto n_rows = static_cast<size_t>(features->n_rows());
  bound->features = std::move(features);
  ForestTargets& targets = bound->targets;
  require(target.shape(0) == n_rows, "target must have one value per row");
  targets.target = copied(target);
  require(label.has_value() == class_value.has_value(), "labels and class values go together");
  if (label) {
    require(label->shape(0) == n_rows, "label must have one value per row");
    targets.label = copied(*label);
    targets.class_value = copied(*class_value);
    for (const uint8_t value : targets.label) {
      require(value < targets.class_value.size(), "a label lies beyond the class values");
    }
  }
  if (weight) {
    require(weight->shape(0) == n_rows, "weight must have one value per row");
    targets.weight = copied(*weight);
    if (n_rows == 0) targets.weight.push_back(0);  // a worker without rows has weights, too
  }
  return bound;
}

// Wraps a Python function of rows, offsets and scores that returns the value of each query.
std::function<void(const QueryRankings&, std::vector<double>&)> make_evaluation(
    const nb::callable& function) {
  return [function = shared_object(function)](const QueryRankings& rankings,
                                              std::vector<double>& values) {
    nb::gil_scoped_acquire locked;
    const nb::object result = (*function)(to_numpy(std::vector<int32_t>(rankings.rows)),
                                          to_numpy(std::vector<int64_t>(rankings.offsets)),
                                          to_numpy(std::vector<double>(rankings.scores)));
    In<double> returned;
    require(nb::try_cast(result, returned) && returned.shape(0) == values.size(),
            "the metric of listwise splits must return one float64 value per query, " +
                std::to_string(values.size()) + " in all");
    std::copy_n(returned.data(), values.size(), values.begin());
  };
}

void set_metric(BoundTargets& bound, In<double> gain, In<double> discount, In<double> scale,
                In<double> weight, const std::string& kind, std::optional<int64_t> k,
                std::optional<nb::callable> function, bool reads_scores) {
  ListwiseMetric metric = make_metric(gain, discount, scale, weight, bound.features->offsets);
  metric.kind = named(kMetricKinds, kind, "kind of metric");
  require_at_least<int64_t>("k", k.value_or(1), 1);
  metric.k = k.value_or(kWholeList);
  require((metric.kind == MetricKind::kFunction) == function.has_value(),
          "a metric of the kind 'function' needs its function, and no other takes one");
  if (function) metric.evaluate = make_evaluation(*function);
  metric.reads_scores = reads_scores;
  bound.targets.metric = std::move(metric);
}

// Wraps a Python function of two matrices, a row of sums per candidate split and child.
CustomCriterion make_criterion(const std::string& name, const nb::callable& function,
                               bool needs_classes) {
  const std::string quoted = "'" + name + "'";
  return {quoted, needs_classes,
          [function = shared_object(function), quoted](const std::vector<double>& left,
                                                       const std::vector<double>& right, int64_t n,
                                                       int32_t n_sums, std::vector<double>& gain) {
            nb::gil_scoped_acquire locked;
            const auto matrix = [&](const std::vector<double>& sums) {
              auto owned = to_numpy(std::vector<double>(sums));
              return nb::cast(owned).attr("reshape")(n, n_sums);
            };
            const nb::object result = (*function)(matrix(left), matrix(right));
            In<double> values;
            require(nb::try_cast(result, values) && values.shape(0) == gain.size(),
                    "the criterion " + quoted +
                        " must return one float64 gain per candidate split, " + std::to_string(n) +
                        " in all");
            std::copy_n(values.data(), gain.size(), gain.begin());
          }};
}

ForestOptions make_options(const std::string& splitter,
                           const std::variant<std::string, CustomCriterion>& criterion,
                           const std::string& order, int64_t max_features, bool redraw,
                           std::optional<int64_t> listwise_levels, bool fallback,
                           int64_t min_samples_split, int64_t min_samples_leaf,
                           std::optional<int64_t> max_depth, std::optional<int64_t> max_leaf_nodes,
                           bool missing_branch, double min_gain, double threshold_fraction,
                           double query_fraction) {
  const auto limited = [](std::optional<int64_t> value) {
    return static_cast<int32_t>(std::min<int64_t>(value.value_or(kUnlimited), kUnlimited));
  };
  ForestOptions options;
  options.splitter = named(kSplitters, splitter, "splitter");
  options.order = named(kOrders, order, "order");
  if (const auto* name = std::get_if<std::string>(&criterion)) {
    require(visit_criterion(*name, [](auto) {}), "there is no criterion '" + *name + "'");
    options.criterion = *name;
  } else {
    options.custom = std::get<CustomCriterion>(criterion);
  }
  require_at_least<int64_t>("max_features", max_features, 1);
  require_at_least<int64_t>("listwise_levels", listwise_levels.value_or(0), 0);
  require_at_least<int64_t>("min_samples_split", min_samples_split, 2);
  require_at_least<int64_t>("min_samples_leaf", min_samples_leaf, 1);
  require_at_least<int64_t>("max_depth", max_depth.value_or(1), 1);
  require_at_least<int64_t>("max_leaf_nodes", max_leaf_nodes.value_or(2), 2);
  require_at_least("min_gain", min_gain, 0.0);
  require_fraction("threshold_fraction", threshold_fraction);
  require_fraction("query_fraction", query_fraction);
  options.max_features = limited(max_features);
  options.redraw = redraw;
  options.listwise_levels = limited(listwise_levels);
  options.fallback = fallback;
  options.min_samples_split = min_samples_split;
  options.min_samples_leaf = min_samples_leaf;
  options.max_depth = limited(max_depth);
  options.max_leaf_nodes = limited(max_leaf_nodes);
  options.missing_branch = missing_branch;
  options.min_gain = min_gain;
  options.threshold_fraction = threshold_fraction;
  options.query_fraction = query_fraction;
  return options;
}

// Of several workers: number of the first own unit and of all, and of weights with replacement that
// of the units before, of all, and whether an own one is the last that has one.
using ShareArguments = std::tuple<int64_t, int64_t, double, double, bool>;

ForestSample make_sample(const std::string& sampling, int64_t size,
                         std::optional<In<double>> weights, std::optional<ShareArguments> share) {
  ForestSample sample;
  std::tie(sample.unit, sample.replacement) = named(kSamplings, sampling, "sampling");
  sample.size = size;
  require_at_least<int64_t>("sample size", size, 0);
  if (weights) {
    double sum = 0;
    for (size_t i = 0; i < weights->shape(0); ++i) {
      const double weight = weights->data()[i];
      require(
          weight >= 0 && std::isfinite(weight),
          "the weight of a sample's unit " + std::to_string(i) + " is " + std::to_string(weight));
      sum += weight;
    }
    require(size == 0 || sum > 0 || share, "the weights of a sample are all 0");
    if (!sample.replacement) {
      sample.weights = copied(*weights);
    } else if (share) {
      const auto [first, n_all, before, all, has_last] = *share;
      require(all > 0, "the weights of a sample are all 0");
      sample.weighted_draw = WeightedDraw(copied(*weights), before, all, has_last);
    } else if (sum > 0) {
      sample.weighted_draw = WeightedDraw(copied(*weights));
    }
  }
  if (share) {
    sample.share = {std::get<0>(*share), std::get<1>(*share)};
    require_at_least<int64_t>("number of units", sample.share.n_all, 1);
  }
  return sample;
}

void grow_forest_checked(const BoundTargets& bound, const ForestOptions& options,
                         const ForestSample& sample, nb::list grown, uint64_t seed,
                         int64_t first_tree, int64_t n_trees,
                         std::optional<std::pair<Out<double>, Out<int32_t>>> out_of_bag,
                         int n_threads, std::optional<nb::callable> progress) {
  const ForestData data = bound.data();
  require_fitting(options, sample, data);
  require_at_least<int64_t>("n_trees", n_trees, 0);
  require_at_least<int64_t>("first_tree", first_tree, 0);
  const auto n_rows = static_cast<size_t>(data.features.n_rows());
  require(!out_of_bag ||
              (out_of_bag->first.shape(0) == n_rows && out_of_bag->second.shape(0) == n_rows),
          "out-of-bag sums and counts must have one value per row");
  std::vector<std::shared_ptr<Tree>> trees(static_cast<size_t>(n_trees));
  std::exception_ptr interruption;
  {
    nb::gil_scoped_release unlocked;
    try {
      grow_forest(data, options, sample, seed, first_tree, trees, n_threads, [&](int64_t n_done) {
        nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (progress) (*progress)(n_done);
      });
    } catch (...) {
      interruption = std::current_exception();
    }
    try {
      if (out_of_bag) {
        add_out_of_bag(data.features, trees, sample, seed, first_tree, out_of_bag->first.data(),
                       out_of_bag->second.data(), n_threads);
      }
    } catch (...) {
      interruption = std::current_exception();
    }
  }
  for (int64_t i = 0; i < n_trees; ++i) {
    if (trees[i]) grown.append(nb::make_tuple(first_tree + i, trees[i]));
  }
  if (interruption) std::rethrow_exception(interruption);
}

nb::dict criteria() {
  nb::dict needs_classes;
  any_criterion([&](auto criterion) {
    needs_classes[nb::str(criterion.name.data(), criterion.name.size())] = criterion.needs_classes;
    return false;
  });
  return needs_classes;
}

void bind_options(nb::module_& m) {
  nb::class_<CustomCriterion>(m, "ForestCriterion",
                              "A split criterion written in Python: a function of two matrices, "
                              "left and right, with a row per candidate split: weight, sum of "
                              "targets, sum of squared targets, and the weight of each class (if "
                              "labels are classes). It returns the gains.")
      .def(
          nb::new_([](const std::string& name, const nb::callable& function, bool needs_classes) {
            return std::make_shared<CustomCriterion>(make_criterion(name, function, needs_classes));
          }),
          nb::arg("name"), nb::arg("function"), nb::kw_only(), nb::arg("needs_classes"));
  nb::class_<ForestOptions>(m, "ForestOptions", "How the trees of a forest choose their splits.")
      .def(nb::new_([](const std::string& splitter,
                       const std::variant<std::string, CustomCriterion>& criterion,
                       const std::string& order, int64_t max_features, bool redraw,
                       std::optional<int64_t> listwise_levels, bool fallback,
                       int64_t min_samples_split, int64_t min_samples_leaf,
                       std::optional<int64_t> max_depth, std::optional<int64_t> max_leaf_nodes,
                       bool missing_branch, double min_gain, double threshold_fraction,
                       double query_fraction) {
             return std::make_shared<ForestOptions>(make_options(
                 splitter, criterion, order, max_features, redraw, listwise_levels, fallback,
                 min_samples_split, min_samples_leaf, max_depth, max_leaf_nodes, missing_branch,
                 min_gain, threshold_fraction, query_fraction));
           }),
           nb::kw_only(), nb::arg("splitter") = "best", nb::arg("criterion") = "squared_error",
           nb::arg("order") = "breadth-first", nb::arg("max_features"), nb::arg("redraw") = true,
           nb::arg("listwise_levels").none() = 0, nb::arg("fallback") = true,
           nb::arg("min_samples_split") = 2, nb::arg("min_samples_leaf") = 1,
           nb::arg("max_depth").none() = nb::none(), nb::arg("max_leaf_nodes").none() = nb::none(),
           nb::arg("missing_branch") = false, nb::arg("min_gain") = 0.0,
           nb::arg("threshold_fraction") = 1.0, nb::arg("query_fraction") = 1.0);
  nb::class_<ForestSample>(m, "ForestSample",
                           "What each tree sees: `size` queries or documents ('queries', "
                           "'documents'), or as many draws with replacement ('bootstrap-queries', "
                           "'bootstrap'), equally likely or by weights.")
      .def(nb::new_([](const std::string& sampling, int64_t size, std::optional<In<double>> weights,
                       std::optional<ShareArguments> share) {
             return std::make_shared<ForestSample>(make_sample(sampling, size, weights, share));
           }),
           nb::arg("sampling"), nb::arg("size"), nb::arg("weights").none() = nb::none(),
           nb::arg("share").none() = nb::none())
      .def(
          "draw",
          [](const ForestSample& sample, In<int64_t> offsets, uint64_t seed, int64_t tree_number) {
            const std::vector<int64_t> own = copied(offsets);
            require(!own.empty(), "query offsets must not be empty");
            require_offsets(own, own.back());
            require_drawable(sample, own);
            return to_numpy(
                draw_rows(sample, own, tree_seed(seed, static_cast<uint64_t>(tree_number))));
          },
          nb::arg("offsets"), nb::kw_only(), nb::arg("seed"), nb::arg("tree_number"),
          "Rows of the sample of one tree, in ascending order.");
}

}  // namespace

void bind_forests(nb::module_& m) {
  nb::class_<ForestFeatures>(m, "ForestFeatures",
                             "Codes and queries that forests are grown on, whatever they learn.")
      .def(nb::new_(&make_features), nb::arg("binned"), nb::arg("offsets"), nb::arg("feature_min"),
           nb::arg("feature_max"), nb::arg("n_threads"));
  nb::class_<BoundTargets>(m, "ForestTargets", "What a forest learns, on some features.")
      .def(nb::new_(&make_targets), nb::arg("features"), nb::arg("target"),
           nb::arg("label").none() = nb::none(), nb::arg("class_value").none() = nb::none(),
           nb::arg("weight").none() = nb::none())
      .def(
          "make_sums_exact",
          [](BoundTargets& bound, int64_t most_documents, double largest_weight,
             double largest_target) {
            bound.targets.make_sums_exact(most_documents, largest_weight, largest_target);
            return bound.targets.target_grid.exact() && bound.targets.square_grid.exact();
          },
          nb::arg("most_documents"), nb::arg("largest_weight"), nb::arg("largest_target"),
          "Round weights and targets so that sums over up to so many documents are exact, in any "
          "order; false if they are too large.")
      .def("set_metric", &set_metric, nb::arg("gain"), nb::arg("discount"), nb::arg("scale"),
           nb::arg("weight"), nb::kw_only(), nb::arg("kind") = "position",
           nb::arg("k").none() = nb::none(), nb::arg("function").none() = nb::none(),
           nb::arg("reads_scores") = false,
           "Set the metric of listwise splits: gain of each row, factor of each rank (of the kind "
           "'position'), and of each query its weight / ideal DCG and its weight. Other kinds "
           "count the first k ranks, or evaluate function(rows, offsets, scores) -> values of "
           "queries, which may read more of the scores than their order.");
  bind_options(m);
  m.def("forest_criteria", &criteria,
        "Names of the native split criteria, and whether they need labels that are classes.");
  m.def("grow_forest", &grow_forest_checked, nb::arg("targets"), nb::arg("options"),
        nb::arg("sample"), nb::arg("grown"), nb::kw_only(), nb::arg("seed"),
        nb::arg("first_tree") = 0, nb::arg("n_trees"), nb::arg("out_of_bag").none() = nb::none(),
        nb::arg("n_threads"), nb::arg("progress").none() = nb::none(),
        "Grow trees number first_tree .. first_tree + n_trees - 1 of a forest; append (number, "
        "tree) of the finished ones, even if the growth is interrupted. `out_of_bag` is a pair of "
        "arrays: to each row's sum the values of the trees are added whose sample did not hold it, "
        "to its count their number.");
}

}  // namespace rankgrove
