#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/communicators.hpp"
#include "bindings/shared_object.hpp"
#include "common/parallel.hpp"
#include "trees/apply_tree.hpp"
#include "trees/tree.hpp"
#include "trees/tree_grower.hpp"

namespace rankgrove {
namespace {

// A numpy view of one of the tree's arrays that keeps the tree alive.
template <auto Member>
auto array_of(nb::handle self) {
  auto& values = nb::cast<Tree&>(self).*Member;
  using T = typename std::remove_reference_t<decltype(values)>::value_type;
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data(), {values.size()}, self);
}

template <typename T>
std::vector<T> to_vector(const In<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

std::unique_ptr<Tree> make_tree(In<int32_t> feature, In<float> threshold, In<int32_t> left,
                                In<uint8_t> missing_left, In<double> value, In<uint32_t> count,
                                In<float> gain) {
  const size_t n = feature.shape(0);
  for (const size_t length : {threshold.shape(0), left.shape(0), missing_left.shape(0),
                              value.shape(0), count.shape(0), gain.shape(0)}) {
    require(length == n && n > 0 && n < (size_t{1} << 31), "the arrays of a tree differ in length");
  }
  for (size_t i = 0; i < n; ++i) {
    const int64_t child = left.data()[i];
    const bool leaf = child == -1 && feature.data()[i] == -1;
    const bool inner = child > static_cast<int64_t>(i) && child + 1 < static_cast<int64_t>(n) &&
                       feature.data()[i] >= 0;
    require(leaf || inner, "node " + std::to_string(i) + " of a tree makes no sense");
  }
  return std::make_unique<Tree>(Tree{to_vector(feature), to_vector(threshold), to_vector(left),
                                     to_vector(missing_left), to_vector(value), to_vector(count),
                                     to_vector(gain)});
}

const std::map<std::string, Growth> kGrowths = {
    {"leafwise", Growth::kLeafWise},
    {"levelwise", Growth::kLevelWise},
    {"oblivious", Growth::kOblivious},
};

// Wraps a Python function of four arrays that returns one gain per candidate.
SplitCriterion python_criterion(const nb::callable& function) {
  const std::string name = name_of(function);
  return {name, [function = shared_object(function), name](
                    const std::vector<double>& gl, const std::vector<double>& hl,
                    const std::vector<double>& gr, const std::vector<double>& hr,
                    std::vector<double>& gain) {
            nb::gil_scoped_acquire locked;
            const auto array = [](const std::vector<double>& v) {
              return to_numpy(std::vector<double>(v));
            };
            const nb::object result = (*function)(array(gl), array(hl), array(gr), array(hr));
            In<double> values;
            require(nb::try_cast(result, values) && values.shape(0) == gain.size(),
                    "the split criterion " + name +
                        " must return one float64 gain per candidate split, " +
                        std::to_string(gain.size()) + " in all");
            std::copy_n(values.data(), gain.size(), gain.begin());
          }};
}

GrowOptions make_options(const std::string& tree, int32_t max_leaf_nodes,
                         std::optional<int32_t> max_depth, int64_t min_samples_leaf,
                         double min_child_weight, double l2, double min_gain,
                         bool least_squares_splits, double max_features_tree,
                         double max_features_node, std::optional<In<int8_t>> monotone,
                         std::optional<nb::callable> criterion) {
  GrowOptions options;
  options.growth = named(kGrowths, tree, "tree");
  options.max_leaf_nodes = max_leaf_nodes;
  options.max_depth = max_depth.value_or(0);
  options.least_squares_splits = least_squares_splits;
  options.max_features_tree = max_features_tree;
  options.max_features_node = max_features_node;
  options.rules = {l2, min_gain, min_child_weight, min_samples_leaf, {}, {}};
  require(max_leaf_nodes >= 1, "max_leaf_nodes must be at least 1");
  require(min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
  require(l2 >= 0.0 && min_child_weight >= 0.0, "l2 and min_child_weight must not be negative");
  if (options.growth == Growth::kOblivious) {
    require(
        options.max_depth >= 1 && options.max_depth <= 12,
        "max_depth of oblivious trees must be 1 to 12, not " + std::to_string(options.max_depth));
    require(!monotone && !criterion,
            "oblivious trees take no monotone constraints and no criterion of your own");
    require(min_samples_leaf == 1 && min_child_weight == 0.0,
            "oblivious trees split every node of a level, however small, and take no "
            "min_samples_leaf (" +
                std::to_string(min_samples_leaf) + ") and no min_child_weight (" +
                std::to_string(min_child_weight) + ")");
  }
  if (monotone) options.rules.monotone = to_vector(*monotone);
  if (criterion) {
    require(!monotone, "a criterion of your own does not go with monotone constraints");
    options.rules.criterion = python_criterion(*criterion);
  }
  return options;
}

std::unique_ptr<TreeGrower> make_grower(std::shared_ptr<const BinnedMatrix> binned,
                                        const GrowOptions& options, int n_threads,
                                        const nb::object& communicator, int64_t first_row,
                                        int64_t n_rows) {
  require(n_rows < (int64_t{1} << 29),
          "there are " + std::to_string(n_rows) +
              " rows in all, and a tree is grown on fewer than 2^29 (536870912): learn from a part "
              "of them");
  require(first_row >= 0 && first_row + binned->n_rows <= n_rows,
          "the rows of this worker are not among those of all");
  const std::vector<int8_t>& monotone = options.rules.monotone;
  require(monotone.empty() || std::ssize(monotone) == binned->n_features(),
          "monotone must have one entry per feature");
  RowShare share{as_communicator(communicator), first_row, n_rows};
  nb::gil_scoped_release unlocked;
  return std::make_unique<TreeGrower>(std::move(binned), options, std::move(share), n_threads);
}

Tree grow(TreeGrower& grower, In<float> gradients, std::optional<In<float>> hessians,
          std::optional<In<int32_t>> rows, uint64_t seed) {
  const auto n = static_cast<size_t>(grower.binned().n_rows);
  require(gradients.shape(0) == n, "gradients must have one entry per row");
  require(!hessians || hessians->shape(0) == n, "hessians must have one entry per row");
  const int64_t n_sampled = rows ? static_cast<int64_t>(rows->shape(0)) : 0;
  for (int64_t i = 0; i < n_sampled; ++i) {
    const int32_t row = rows->data()[i];
    require(row >= 0 && row < static_cast<int64_t>(n) && (i == 0 || row > rows->data()[i - 1]),
            "rows must ascend and lie in the matrix");
  }
  nb::gil_scoped_release unlocked;
  return grower.grow(gradients.data(), hessians ? hessians->data() : nullptr,
                     rows ? rows->data() : nullptr, n_sampled, seed);
}

void add_leaf_values(Out<double> scores, In<int32_t> leaf_of_row, In<double> values,
                     int n_threads) {
  const auto n = static_cast<int64_t>(scores.shape(0));
  require(leaf_of_row.shape(0) == scores.shape(0), "scores and leaf_of_row must be equally long");
  const auto n_nodes = static_cast<uint32_t>(values.shape(0));
  double* score = scores.data();
  const int32_t* leaf = leaf_of_row.data();
  const double* value = values.data();
  nb::gil_scoped_release unlocked;
  constexpr int64_t kBlock = 8192;
  parallel_for((n + kBlock - 1) / kBlock, n_threads, 1.0 * kBlock, [&](int64_t block) {
    for (int64_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
      require(static_cast<uint32_t>(leaf[i]) < n_nodes,
              "leaf_of_row names a node that is not there");
      score[i] += value[leaf[i]];
    }
  });
}

}  // namespace

void bind_growing(nb::module_& m) {
  nb::class_<Tree>(m, "Tree", "One grown tree; its arrays are views, and `value` may be written.")
      .def(nb::new_(&make_tree), nb::arg("feature"), nb::arg("threshold"), nb::arg("left"),
           nb::arg("missing_left"), nb::arg("value"), nb::arg("count"), nb::arg("gain"))
      .def_prop_ro("feature", &array_of<&Tree::feature>)
      .def_prop_ro("threshold", &array_of<&Tree::threshold>)
      .def_prop_ro("left", &array_of<&Tree::left>)
      .def_prop_ro("missing_left", &array_of<&Tree::missing_left>)
      .def_prop_ro("value", &array_of<&Tree::value>)
      .def_prop_ro("count", &array_of<&Tree::count>)
      .def_prop_ro("gain", &array_of<&Tree::gain>)
      .def_prop_ro("n_nodes", &Tree::n_nodes)
      .def(
          "apply_binned",
          [](const Tree& tree, std::shared_ptr<const BinnedMatrix> binned, int n_threads) {
            for (const int32_t f : tree.feature) {
              require(f < binned->n_features(), "the tree uses a feature that the matrix lacks");
            }
            std::vector<int32_t> leaves;
            {
              nb::gil_scoped_release unlocked;
              leaves = apply_tree(tree, *binned, n_threads);
            }
            return to_numpy(std::move(leaves));
          },
          nb::arg("binned"), nb::arg("n_threads"),
          "The leaf of each row of a matrix that has the bins of the training data.");
  nb::class_<GrowOptions>(m, "GrowOptions", "How trees are grown on gradients, checked.")
      .def(nb::new_(&make_options), nb::kw_only(), nb::arg("tree"), nb::arg("max_leaf_nodes"),
           nb::arg("max_depth").none(), nb::arg("min_samples_leaf"), nb::arg("min_child_weight"),
           nb::arg("l2"), nb::arg("min_gain"), nb::arg("least_squares_splits"),
           nb::arg("max_features_tree"), nb::arg("max_features_node"), nb::arg("monotone").none(),
           nb::arg("criterion").none());
  nb::class_<TreeGrower>(m, "TreeGrower", "Grows trees on gradients; see trees/tree_grower.hpp.")
      .def(nb::new_(&make_grower), nb::arg("binned"), nb::arg("options"), nb::arg("n_threads"),
           nb::arg("communicator").none(), nb::arg("first_row"), nb::arg("n_rows"))
      .def("grow", &grow, nb::arg("gradients"), nb::arg("hessians").none(), nb::arg("rows").none(),
           nb::arg("seed"))
      .def_prop_ro("leaf_of_row", [](nb::handle self) {
        const std::vector<int32_t>& leaves = nb::cast<TreeGrower&>(self).leaf_of_row();
        return nb::ndarray<nb::numpy, const int32_t, nb::ndim<1>>(leaves.data(), {leaves.size()},
                                                                  self);
      });
  m.def("add_leaf_values", &add_leaf_values, nb::arg("scores"), nb::arg("leaf_of_row"),
        nb::arg("values"), nb::arg("n_threads"), "scores += values[leaf_of_row], in place.");
}

}  // namespace rankgrove
