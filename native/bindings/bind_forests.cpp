#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>

#include "bindings/bindings.hpp"
#include "common/parallel.hpp"
#include "forests/forest_data.hpp"
#include "forests/forest_grower.hpp"
#include "forests/leaves.hpp"
#include "forests/options.hpp"
#include "forests/sampling.hpp"
#include "forests/strength.hpp"
#include "trees/tree.hpp"

namespace rankgrove {
namespace {

using namespace forests;

template <typename T>
T named(const std::map<std::string, T>& values, const std::string& name, const char* what) {
  const auto found = values.find(name);
  require(found != values.end(), std::string("unknown ") + what + " '" + name + "'");
  return found->second;
}

const std::map<std::string, Splitter> kSplitters = {
    {"best", Splitter::best},
    {"random-threshold", Splitter::random_threshold},
    {"random", Splitter::random},
};
const std::map<std::string, Criterion> kCriteria = {
    {"entropy", Criterion::entropy},
    {"gini", Criterion::gini},
    {"squared_error", Criterion::squared_error},
};
const std::map<std::string, NodeOrder> kOrders = {
    {"breadth-first", NodeOrder::breadth_first},
    {"depth-first", NodeOrder::depth_first},
    {"random", NodeOrder::random},
    {"biggest-first", NodeOrder::biggest_first},
    {"most-relevant-first", NodeOrder::most_relevant_first},
};

template <typename T>
std::vector<T> copied(const In<T>& values) {
  return std::vector<T>(values.data(), values.data() + values.shape(0));
}

void require_offsets(const std::vector<int64_t>& offsets, int64_t n_rows) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == n_rows,
          "query offsets must run from 0 to the number of rows");
  for (size_t q = 1; q < offsets.size(); ++q) {
    require(offsets[q] >= offsets[q - 1], "query offsets must not fall");
  }
}

// Owns what the forest reads, and keeps the binned matrix alive.
struct ForestInput {
  std::shared_ptr<BinnedMatrix> binned;
  ForestData data;
};

std::shared_ptr<ForestInput> make_input(std::shared_ptr<BinnedMatrix> binned, In<double> target,
                                        In<int64_t> offsets, In<float> feature_min,
                                        In<float> feature_max, std::optional<In<uint8_t>> label,
                                        std::optional<In<double>> class_value,
                                        std::optional<In<double>> weight, int n_threads) {
  auto input = std::make_shared<ForestInput>();
  input->binned = std::move(binned);
  ForestData& data = input->data;
  data.binned = input->binned.get();
  const auto n_rows = static_cast<size_t>(data.n_rows());
  const auto n_features = static_cast<size_t>(data.binned->n_features());
  require(target.shape(0) == n_rows, "target must have one value per row");
  require(feature_min.shape(0) == n_features && feature_max.shape(0) == n_features,
          "extreme values must be given for every feature");
  data.target = copied(target);
  data.offsets = copied(offsets);
  require_offsets(data.offsets, data.n_rows());
  require(label.has_value() == class_value.has_value(), "labels and class values go together");
  if (label) {
    require(label->shape(0) == n_rows, "label must have one value per row");
    data.label = copied(*label);
    data.class_value = copied(*class_value);
    for (const uint8_t value : data.label) {
      require(value < data.class_value.size(), "a label lies beyond the class values");
    }
  }
  if (weight) {
    require(weight->shape(0) == n_rows, "weight must have one value per row");
    data.weight = copied(*weight);
  }
  nb::gil_scoped_release unlocked;
  prepare_forest_data(data, feature_min.data(), feature_max.data(), n_threads);
  return input;
}

PositionMetric make_metric(const In<double>& gain, const In<double>& discount,
                           const In<double>& scale, const In<double>& weight,
                           const std::vector<int64_t>& offsets) {
  const size_t n_queries = offsets.size() - 1;
  require(static_cast<int64_t>(gain.shape(0)) == offsets.back(),
          "gain must have one value per row");
  require(scale.shape(0) == n_queries && weight.shape(0) == n_queries,
          "scale and weight must have one value per query");
  size_t longest = 0;
  for (size_t q = 0; q < n_queries; ++q) {
    longest = std::max(longest, static_cast<size_t>(offsets[q + 1] - offsets[q]));
  }
  PositionMetric metric;
  metric.gain = copied(gain);
  metric.scale = copied(scale);
  metric.weight = copied(weight);
  metric.cumulative.assign(longest + 1, 0.0);
  for (size_t rank = 0; rank < longest; ++rank) {
    metric.cumulative[rank + 1] =
        metric.cumulative[rank] + (rank < discount.shape(0) ? discount.data()[rank] : 0.0);
  }
  return metric;
}

void set_metric(ForestInput& input, In<double> gain, In<double> discount, In<double> scale,
                In<double> weight) {
  input.data.metric = make_metric(gain, discount, scale, weight, input.data.offsets);
}

SampleOptions make_sample(const std::string& unit, int64_t size,
                          const std::optional<In<double>>& weights,
                          const std::vector<int64_t>& offsets) {
  require(unit == "queries" || unit == "documents", "unknown unit of sampling '" + unit + "'");
  SampleOptions sample;
  sample.unit = unit == "queries" ? SampleUnit::queries : SampleUnit::documents;
  sample.size = size;
  const int64_t n_units = sample.unit == SampleUnit::queries
                              ? static_cast<int64_t>(offsets.size()) - 1
                              : offsets.back();
  require(size >= 0 && (size == 0 || n_units > 0), "cannot draw a sample from nothing");
  require(size < (int64_t{1} << 31), "a sample holds at most 2^31 - 1 rows");
  if (weights) {
    require(static_cast<int64_t>(weights->shape(0)) == n_units,
            "there must be one weight per unit of sampling");
    sample.weights = copied(*weights);
    for (const double w : sample.weights) require(w >= 0, "weights must not be negative");
  }
  return sample;
}

void grow_forest_checked(const ForestInput& input, nb::list grown, uint64_t seed,
                         int64_t first_tree, int64_t n_trees, const std::string& splitter,
                         const std::string& criterion, const std::string& order,
                         int32_t max_features, int32_t listwise_levels, int64_t min_samples_split,
                         int64_t min_samples_leaf, int32_t max_depth, int32_t max_leaf_nodes,
                         double min_gain, double threshold_fraction, double query_fraction,
                         const std::string& sample_unit, int64_t sample_size,
                         std::optional<In<double>> sample_weights, int n_threads,
                         std::optional<nb::callable> progress) {
  const ForestData& data = input.data;
  GrowOptions options;
  options.splitter = named(kSplitters, splitter, "splitter");
  options.criterion = named(kCriteria, criterion, "criterion");
  options.order = named(kOrders, order, "node order");
  require(max_features >= 1, "max_features must be at least 1");
  require(min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
  require(listwise_levels == 0 || !data.metric.scale.empty(), "listwise splits need a metric");
  require(listwise_levels == 0 || sample_unit == "queries",
          "listwise splits need samples of whole queries");
  require(n_trees >= 0 && first_tree >= 0, "tree numbers must not be negative");
  require(data.has_classes() || options.criterion == Criterion::squared_error,
          "entropy and gini need whole-number labels");
  options.max_features = max_features;
  options.listwise_levels = listwise_levels;
  options.min_samples_split = std::max<int64_t>(2, min_samples_split);
  options.min_samples_leaf = min_samples_leaf;
  options.max_depth = max_depth;
  options.max_leaf_nodes = max_leaf_nodes;
  options.min_gain = min_gain;
  options.threshold_fraction = threshold_fraction;
  options.query_fraction = query_fraction;
  const SampleOptions sample = make_sample(sample_unit, sample_size, sample_weights, data.offsets);
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
  }
  for (int64_t i = 0; i < n_trees; ++i) {
    if (trees[i]) grown.append(nb::make_tuple(first_tree + i, trees[i]));
  }
  if (interruption) std::rethrow_exception(interruption);
}

void add_out_of_bag_checked(const ForestInput& input,
                            const std::vector<std::shared_ptr<Tree>>& trees,
                            const std::vector<int64_t>& tree_numbers, uint64_t seed,
                            const std::string& sample_unit, int64_t sample_size,
                            std::optional<In<double>> sample_weights, Out<double> sums,
                            Out<int32_t> counts, int n_threads) {
  const auto n_rows = static_cast<size_t>(input.data.n_rows());
  require(trees.size() == tree_numbers.size(), "every tree must have a number");
  require(sums.shape(0) == n_rows && counts.shape(0) == n_rows,
          "sums and counts must have one value per row");
  const SampleOptions sample =
      make_sample(sample_unit, sample_size, sample_weights, input.data.offsets);
  nb::gil_scoped_release unlocked;
  add_out_of_bag(input.data, trees, sample, seed, tree_numbers, sums.data(), counts.data(),
                 n_threads);
}

// Checks that node numbers stay inside their trees, so that kernels can follow them.
TreeArrays checked_trees(const In<int64_t>& tree_offsets, const In<int32_t>& feature,
                         const In<float>& threshold, const In<int32_t>& left,
                         const In<uint8_t>& missing_left, int64_t n_features) {
  const size_t n_nodes = left.shape(0);
  require(feature.shape(0) == n_nodes && threshold.shape(0) == n_nodes &&
              missing_left.shape(0) == n_nodes,
          "all arrays of nodes must have the same length");
  const std::vector<int64_t> offsets = copied(tree_offsets);
  require(!offsets.empty(), "tree offsets must not be empty");
  require_offsets(offsets, static_cast<int64_t>(n_nodes));
  for (size_t tree = 0; tree + 1 < offsets.size(); ++tree) {
    const int64_t size = offsets[tree + 1] - offsets[tree];
    require(size > 0, "a tree has no node");
    for (int64_t node = 0; node < size; ++node) {
      const int64_t child = left.data()[offsets[tree] + node];
      if (child < 0) continue;
      require(child > node && child + 1 < size, "a child lies outside of its tree");
      const int32_t f = feature.data()[offsets[tree] + node];
      require(f >= 0 && f < n_features, "a node splits on a feature that does not exist");
    }
  }
  return {tree_offsets.data(), static_cast<int64_t>(tree_offsets.shape(0)) - 1,
          feature.data(),      threshold.data(),
          left.data(),         missing_left.data()};
}

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> find_leaves_checked(
    InMatrix<float> x, std::optional<In<float>> fill, In<int64_t> tree_offsets, In<int32_t> feature,
    In<float> threshold, In<int32_t> left, In<uint8_t> missing_left, int n_threads) {
  const MatrixView view{x.data(), static_cast<int64_t>(x.shape(0)),
                        static_cast<int32_t>(x.shape(1)), x.stride(0), x.stride(1)};
  const TreeArrays trees =
      checked_trees(tree_offsets, feature, threshold, left, missing_left, view.n_features);
  require(!fill || fill->shape(0) == x.shape(1), "fill must have one value per feature");
  const std::vector<float> fill_values = fill ? copied(*fill) : std::vector<float>();
  std::vector<int32_t> leaves(static_cast<size_t>(view.n_rows * trees.n_trees));
  {
    nb::gil_scoped_release unlocked;
    find_leaves(view, fill_values, trees, leaves.data(), n_threads);
  }
  return to_numpy(std::move(leaves));
}

nb::list strength_curves(In<int64_t> tree_offsets, In<int32_t> feature, In<float> threshold,
                         In<int32_t> left, In<uint8_t> missing_left, In<double> value,
                         In<int32_t> leaves, In<int64_t> offsets, In<double> gain,
                         In<double> discount, In<double> scale, In<double> weight, int n_threads) {
  const TreeArrays trees =
      checked_trees(tree_offsets, feature, threshold, left, missing_left, kUnlimited);
  const std::vector<int64_t> own_offsets = copied(offsets);
  require(!own_offsets.empty(), "query offsets must not be empty");
  const int64_t n_rows = own_offsets.back();
  require_offsets(own_offsets, n_rows);
  require(value.shape(0) == left.shape(0), "value must have one value per node");
  require(static_cast<int64_t>(leaves.shape(0)) == n_rows * trees.n_trees,
          "leaves must have one value per row and tree");
  for (int64_t i = 0; i < n_rows * trees.n_trees; ++i) {
    const int64_t tree = i % trees.n_trees;
    require(
        leaves.data()[i] >= 0 && leaves.data()[i] < trees.offsets[tree + 1] - trees.offsets[tree],
        "a leaf lies outside of its tree");
  }
  const PositionMetric metric = make_metric(gain, discount, scale, weight, own_offsets);
  const std::vector<int32_t> query_of_row = queries_of_rows(own_offsets);
  std::vector<std::vector<double>> curves(static_cast<size_t>(trees.n_trees));
  {
    nb::gil_scoped_release unlocked;
    const double cost = 1000.0 * static_cast<double>(n_rows);  // a row moves in several nodes
    parallel_for(trees.n_trees, n_threads, cost, [&](int64_t tree) {
      curves[tree] = strength_curve(trees, value.data(), tree, leaves.data(), own_offsets,
                                    query_of_row, metric);
    });
  }
  nb::list result;
  for (auto& curve : curves) result.append(to_numpy(std::move(curve)));
  return result;
}

}  // namespace

void bind_forests(nb::module_& m) {
  nb::class_<ForestInput>(m, "ForestData", "Codes, targets and queries that a forest is grown on.")
      .def(nb::new_(&make_input), nb::arg("binned"), nb::arg("target"), nb::arg("offsets"),
           nb::arg("feature_min"), nb::arg("feature_max"), nb::arg("label").none(),
           nb::arg("class_value").none(), nb::arg("weight").none(), nb::arg("n_threads"))
      .def("set_metric", &set_metric, nb::arg("gain"), nb::arg("discount"), nb::arg("scale"),
           nb::arg("weight"),
           "Set the metric of listwise splits: gain of each row, factor of each rank, and of each "
           "query its weight / ideal DCG and its weight.");
  m.def(
      "grow_forest", &grow_forest_checked, nb::arg("data"), nb::arg("grown"), nb::kw_only(),
      nb::arg("seed"), nb::arg("first_tree"), nb::arg("n_trees"), nb::arg("splitter"),
      nb::arg("criterion"), nb::arg("order"), nb::arg("max_features"), nb::arg("listwise_levels"),
      nb::arg("min_samples_split"), nb::arg("min_samples_leaf"), nb::arg("max_depth"),
      nb::arg("max_leaf_nodes"), nb::arg("min_gain"), nb::arg("threshold_fraction"),
      nb::arg("query_fraction"), nb::arg("sample_unit"), nb::arg("sample_size"),
      nb::arg("sample_weights").none(), nb::arg("n_threads"), nb::arg("progress").none(),
      "Grow trees number first_tree .. first_tree + n_trees - 1 of a forest; append (number, tree) "
      "of the finished ones, even if the growth is interrupted.");
  m.def("add_out_of_bag", &add_out_of_bag_checked, nb::arg("data"), nb::arg("trees"),
        nb::arg("tree_numbers"), nb::kw_only(), nb::arg("seed"), nb::arg("sample_unit"),
        nb::arg("sample_size"), nb::arg("sample_weights").none(), nb::arg("sums"),
        nb::arg("counts"), nb::arg("n_threads"),
        "Add to each row the values of the trees whose sample did not hold it, and count these.");
  m.def("find_leaves", &find_leaves_checked, nb::arg("x"), nb::arg("fill").none(),
        nb::arg("tree_offsets"), nb::arg("feature"), nb::arg("threshold"), nb::arg("left"),
        nb::arg("missing_left"), nb::arg("n_threads"), "Leaf of every (row, tree), row by row.");
  m.def("strength_curves", &strength_curves, nb::arg("tree_offsets"), nb::arg("feature"),
        nb::arg("threshold"), nb::arg("left"), nb::arg("missing_left"), nb::arg("value"),
        nb::arg("leaves"), nb::arg("offsets"), nb::arg("gain"), nb::arg("discount"),
        nb::arg("scale"), nb::arg("weight"), nb::arg("n_threads"),
        "Mean of a metric before the first and after each split of each tree.");
  m.def(
      "draw_rows",
      [](In<int64_t> offsets, uint64_t seed, int64_t tree_number, const std::string& unit,
         int64_t size, std::optional<In<double>> weights) {
        const std::vector<int64_t> own = copied(offsets);
        require(!own.empty(), "query offsets must not be empty");
        require_offsets(own, own.back());
        const SampleOptions sample = make_sample(unit, size, weights, own);
        return to_numpy(
            draw_rows(sample, own, tree_seed(seed, static_cast<uint64_t>(tree_number))));
      },
      nb::arg("offsets"), nb::arg("seed"), nb::arg("tree_number"), nb::arg("unit"), nb::arg("size"),
      nb::arg("weights").none(), "Rows of the sample of one tree, in ascending order.");
}

}  // namespace rankgrove
