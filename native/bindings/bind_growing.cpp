#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/communicators.hpp"
#include "bindings/shared_object.hpp"
#include "common/numpy_draw.hpp"
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

// The arrays of a tree's sets of categories: of_node, offsets, words.
using SetArrays = std::tuple<In<int32_t>, In<int64_t>, In<uint32_t>>;

CategorySets make_sets(const SetArrays& arrays, const In<int32_t>& left) {
  CategorySets sets{to_vector(std::get<0>(arrays)), to_vector(std::get<1>(arrays)),
                    to_vector(std::get<2>(arrays))};
  require(sets.of_node.size() == left.shape(0), "a tree's nodes and their sets differ in number");
  require(!sets.offsets.empty() && sets.offsets[0] == 0 &&
              sets.offsets.back() == std::ssize(sets.words) && std::ranges::is_sorted(sets.offsets),
          "the sets of categories of a tree make no sense");
  for (size_t i = 0; i < sets.of_node.size(); ++i) {
    require(sets.of_node[i] >= -1 && sets.of_node[i] + 1 < std::ssize(sets.offsets) &&
                (sets.of_node[i] < 0 || left.data()[i] >= 0),
            "node " + std::to_string(i) + " of a tree has a set of categories that is not there");
  }
  return sets;
}

// These arrays of a tree; None if it has none.
nb::object set_arrays(nb::handle self) {
  const CategorySets& sets = nb::cast<const Tree&>(self).categories;
  if (sets.of_node.empty()) return nb::none();
  return nb::make_tuple(to_numpy(std::vector<int32_t>(sets.of_node)),
                        to_numpy(std::vector<int64_t>(sets.offsets)),
                        to_numpy(std::vector<uint32_t>(sets.words)));
}

std::unique_ptr<Tree> make_tree(In<int32_t> feature, In<float> threshold, In<int32_t> left,
                                In<uint8_t> missing_left, In<double> value, In<int64_t> count,
                                In<float> gain, const std::optional<SetArrays>& category_sets) {
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
  return std::make_unique<Tree>(
      Tree{to_vector(feature), to_vector(threshold), to_vector(left), to_vector(missing_left),
           to_vector(value), to_vector(count), to_vector(gain),
           category_sets ? make_sets(*category_sets, left) : CategorySets()});
}

const std::map<std::string, Growth> kGrowths = {
    {"leafwise", Growth::kLeafWise},
    {"levelwise", Growth::kLevelWise},
    {"oblivious", Growth::kOblivious},
};

// Groups of features, as words of bits per feature.
using GroupBits = nb::ndarray<const uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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

CategoryRules make_category_rules(double smoothing, double l2, int32_t max_listed,
                                  int32_t max_onehot, int64_t min_samples, double penalty) {
  require(smoothing >= 0.0 && l2 >= 0.0 && penalty >= 0.0,
          "smoothing, l2 and penalty must not be negative");
  require(max_listed >= 1 && max_onehot >= 0 && min_samples >= 1,
          "max_listed and min_samples must be at least 1, max_onehot at least 0");
  return {smoothing, l2, max_listed, max_onehot, min_samples, penalty};
}

GrowOptions make_options(const std::string& tree, int32_t max_leaf_nodes,
                         std::optional<int32_t> max_depth, int64_t min_samples_leaf,
                         double min_child_weight, double l1, double l2, double min_gain,
                         bool least_squares_splits, double max_features_tree,
                         double max_features_node, std::optional<In<int8_t>> monotone,
                         std::optional<GroupBits> interactions,
                         std::optional<nb::callable> criterion, const CategoryRules& categories,
                         bool missing_branch) {
  GrowOptions options;
  options.growth = named(kGrowths, tree, "tree");
  options.max_leaf_nodes = max_leaf_nodes;
  options.max_depth = max_depth.value_or(0);
  options.least_squares_splits = least_squares_splits;
  options.max_features_tree = max_features_tree;
  options.max_features_node = max_features_node;
  options.rules = {l1,         l2, min_gain, min_child_weight, min_samples_leaf,
                   categories, {}, {},       missing_branch};
  require(max_leaf_nodes >= 1, "max_leaf_nodes must be at least 1");
  require(min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
  require(l1 >= 0.0 && l2 >= 0.0 && min_child_weight >= 0.0,
          "l1, l2 and min_child_weight must not be negative");
  if (options.growth == Growth::kOblivious) {
    require(
        options.max_depth >= 1 && options.max_depth <= 12,
        "max_depth of oblivious trees must be 1 to 12, not " + std::to_string(options.max_depth));
    require(!monotone && !criterion,
            "oblivious trees take no monotone constraints and no criterion of your own");
  }
  require(!missing_branch || (options.growth != Growth::kOblivious && !monotone && !criterion),
          "missing='branch' does not go with oblivious trees, monotone constraints and a criterion "
          "of your own");
  if (monotone) options.rules.monotone = to_vector(*monotone);
  if (interactions) {
    const uint64_t* bits = interactions->data();
    require(interactions->size() > 0, "interactions must have some groups");
    options.interactions = {std::vector(bits, bits + interactions->size()), interactions->shape(1)};
  }
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
  require(n_rows <= kMostRows, "there are " + std::to_string(n_rows) +
                                   " rows in all, and a tree is grown on at most 2^40");
  require(first_row >= 0 && first_row + binned->n_rows <= n_rows,
          "the rows of this worker are not among those of all");
  const std::vector<int8_t>& monotone = options.rules.monotone;
  require(monotone.empty() || std::ssize(monotone) == binned->n_features(),
          "monotone must have one entry per feature");
  require(options.interactions.empty() || options.interactions.n_features() == binned->n_features(),
          "interactions must have one entry per feature");
  for (size_t f = 0; f < monotone.size(); ++f) {
    require(monotone[f] == 0 || !binned->bins->is_categorical(static_cast<int32_t>(f)),
            "feature " + std::to_string(f) + " is categorical and has no direction for monotone");
  }
  RowShare share{as_communicator(communicator), first_row, n_rows};
  nb::gil_scoped_release unlocked;
  return std::make_unique<TreeGrower>(std::move(binned), options, std::move(share), n_threads);
}

Tree grow(TreeGrower& grower, In<float> gradients, std::optional<In<float>> hessians,
          std::optional<In<int32_t>> rows, uint64_t seed, double random_strength) {
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
                     rows ? rows->data() : nullptr, n_sampled, seed, random_strength);
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

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> numpy_draw_checked(uint64_t seed, uint64_t stream,
                                                                int64_t total, int64_t size) {
  require(0 <= size && size <= total && total < (int64_t{1} << 31),
          "size must be between 0 and total, and total below 2^31");
  return to_numpy(
      numpy_draw(seed, stream, static_cast<int32_t>(total), static_cast<int32_t>(size)));
}

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> rows_of_queries(In<int64_t> offsets,
                                                             In<int64_t> queries) {
  const auto n_queries = static_cast<int64_t>(offsets.shape(0)) - 1;
  const int64_t* offset = offsets.data();
  const std::span wanted(queries.data(), queries.shape(0));
  int64_t n_rows = 0;
  for (const int64_t q : wanted) {
    require(0 <= q && q < n_queries, "a query that is not there");
    require(0 <= offset[q] && offset[q] <= offset[q + 1] &&
                offset[q + 1] <= std::numeric_limits<int32_t>::max(),
            "offsets must ascend from 0 to 2^31 - 1 at most");
    n_rows += offset[q + 1] - offset[q];
  }
  std::vector<int32_t> rows(n_rows);
  auto next = rows.begin();
  for (const int64_t q : wanted) {
    const auto last = next + (offset[q + 1] - offset[q]);
    std::iota(next, last, static_cast<int32_t>(offset[q]));
    next = last;
  }
  return to_numpy(std::move(rows));
}

}  // namespace

void bind_growing(nb::module_& m) {
  nb::class_<Tree>(m, "Tree", "One grown tree; its arrays are views, and `value` may be written.")
      .def(nb::new_(&make_tree), nb::arg("feature"), nb::arg("threshold"), nb::arg("left"),
           nb::arg("missing_left"), nb::arg("value"), nb::arg("count"), nb::arg("gain"),
           nb::arg("category_sets") = nb::none())
      .def_prop_ro("feature", &array_of<&Tree::feature>)
      .def_prop_ro("threshold", &array_of<&Tree::threshold>)
      .def_prop_ro("left", &array_of<&Tree::left>)
      .def_prop_ro("missing_left", &array_of<&Tree::missing_left>)
      .def_prop_ro("value", &array_of<&Tree::value>)
      .def_prop_ro("count", &array_of<&Tree::count>)
      .def_prop_ro("gain", &array_of<&Tree::gain>)
      .def_prop_ro("category_sets", &set_arrays,
                   "Arrays of the sets of categories (of_node, offsets, words), copied; None if "
                   "the tree has none.")
      .def_prop_ro("n_nodes", &Tree::n_nodes)
      .def(
          "apply_binned",
          [](const Tree& tree, std::shared_ptr<const BinnedMatrix> binned, int n_threads) {
            for (const int32_t f : tree.feature) {
              require(f < binned->n_features(), "the tree uses a feature that the matrix lacks");
            }
            std::vector<int32_t> leaves(binned->n_rows);
            {
              nb::gil_scoped_release unlocked;
              apply_tree(tree, *binned, nullptr, binned->n_rows, n_threads, leaves.data());
            }
            return to_numpy(std::move(leaves));
          },
          nb::arg("binned"), nb::arg("n_threads"),
          "The leaf of each row of a matrix that has the bins of the training data.");
  nb::class_<CategoryRules>(m, "CategoryRules", "How subsets of categories are found, checked.")
      .def(nb::new_(&make_category_rules), nb::kw_only(), nb::arg("smoothing"), nb::arg("l2"),
           nb::arg("max_listed"), nb::arg("max_onehot"), nb::arg("min_samples"),
           nb::arg("penalty"));
  nb::class_<GrowOptions>(m, "GrowOptions", "How trees are grown on gradients, checked.")
      .def(nb::new_(&make_options), nb::kw_only(), nb::arg("tree"), nb::arg("max_leaf_nodes"),
           nb::arg("max_depth").none(), nb::arg("min_samples_leaf"), nb::arg("min_child_weight"),
           nb::arg("l1"), nb::arg("l2"), nb::arg("min_gain"), nb::arg("least_squares_splits"),
           nb::arg("max_features_tree"), nb::arg("max_features_node"), nb::arg("monotone").none(),
           nb::arg("interactions").none(), nb::arg("criterion").none(), nb::arg("categories"),
           nb::arg("missing_branch"));
  nb::class_<TreeGrower>(m, "TreeGrower", "Grows trees on gradients; see trees/tree_grower.hpp.")
      .def(nb::new_(&make_grower), nb::arg("binned"), nb::arg("options"), nb::arg("n_threads"),
           nb::arg("communicator").none(), nb::arg("first_row"), nb::arg("n_rows"))
      .def("grow", &grow, nb::arg("gradients"), nb::arg("hessians").none(), nb::arg("rows").none(),
           nb::arg("seed"), nb::arg("random_strength"))
      .def_prop_ro("leaf_of_row", [](nb::handle self) {
        const std::vector<int32_t>& leaves = nb::cast<TreeGrower&>(self).leaf_of_row();
        return nb::ndarray<nb::numpy, const int32_t, nb::ndim<1>>(leaves.data(), {leaves.size()},
                                                                  self);
      });
  m.def("add_leaf_values", &add_leaf_values, nb::arg("scores"), nb::arg("leaf_of_row"),
        nb::arg("values"), nb::arg("n_threads"), "scores += values[leaf_of_row], in place.");
  m.def("numpy_draw", &numpy_draw_checked, nb::arg("seed"), nb::arg("stream"), nb::arg("total"),
        nb::arg("size"),
        "numpy.random.default_rng([seed, stream]).choice(total, size, replace=False, "
        "shuffle=False), ascending.");
  m.def("rows_of_queries", &rows_of_queries, nb::arg("offsets"), nb::arg("queries"),
        "The rows offsets[q]..offsets[q + 1] of each query, one query after the other.");
}

}  // namespace rankgrove
