#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/ensemble_view.hpp"
#include "bindings/forest_inputs.hpp"
#include "common/parallel.hpp"
#include "forests/data/forest_features.hpp"
#include "forests/grown/leaves.hpp"
#include "forests/grown/out_of_bag.hpp"
#include "forests/grown/strength.hpp"
#include "trees/tree.hpp"

namespace rankgrove {
namespace {

using namespace forests;

nb::ndarray<nb::numpy, int32_t, nb::ndim<1>> find_leaves_checked(nb::handle ensemble,
                                                                 InMatrix<float> x,
                                                                 std::optional<In<float>> fill,
                                                                 int n_threads) {
  const EnsembleView seen(ensemble);
  const EnsembleArrays& trees = seen.arrays();
  const MatrixView view{x.data(), static_cast<int64_t>(x.shape(0)),
                        static_cast<int32_t>(x.shape(1)), x.stride(0), x.stride(1)};
  require(view.n_features == trees.n_features, "x must have one column per feature");
  require(!fill || fill->shape(0) == x.shape(1), "fill must have one value per feature");
  const std::vector<float> fill_values = fill ? copied(*fill) : std::vector<float>();
  std::vector<int32_t> leaves(static_cast<size_t>(view.n_rows * trees.n_trees()));
  {
    nb::gil_scoped_release unlocked;
    find_leaves(view, fill_values, trees, leaves.data(), n_threads);
  }
  return to_numpy(std::move(leaves));
}

void add_out_of_bag_checked(const ForestFeatures& features,
                            std::vector<std::shared_ptr<Tree>> trees, const ForestSample& sample,
                            uint64_t seed, int64_t first_tree, Out<double> sums,
                            Out<int32_t> counts, int n_threads) {
  require_drawable(sample, features.offsets);
  require(first_tree >= 0, "first_tree must not be negative");
  const auto n_rows = static_cast<size_t>(features.n_rows());
  require(sums.shape(0) == n_rows && counts.shape(0) == n_rows,
          "out-of-bag sums and counts must have one value per row");
  for (const std::shared_ptr<Tree>& tree : trees) {
    require(tree && std::ranges::max(tree->feature) < features.binned->n_features(),
            "a tree uses a feature that the documents lack");
  }
  nb::gil_scoped_release unlocked;
  add_out_of_bag(features, trees, sample, seed, first_tree, sums.data(), counts.data(), n_threads);
}

nb::list strength_curves(nb::handle ensemble, In<int32_t> leaves, In<int64_t> offsets,
                         In<double> gain, In<double> discount, In<double> scale, In<double> weight,
                         int n_threads) {
  const EnsembleView view(ensemble);
  const EnsembleArrays& trees = view.arrays();
  const int64_t n_trees = trees.n_trees();
  const std::vector<int64_t> own_offsets = copied(offsets);
  require(!own_offsets.empty(), "query offsets must not be empty");
  const int64_t n_rows = own_offsets.back();
  require_offsets(own_offsets, n_rows);
  require(static_cast<int64_t>(leaves.shape(0)) == n_rows * n_trees,
          "leaves must have one value per row and tree");
  for (int64_t i = 0; i < n_rows * n_trees; ++i) {
    const int64_t tree = i % n_trees;
    require(leaves.data()[i] >= 0 &&
                leaves.data()[i] < trees.tree_offsets[tree + 1] - trees.tree_offsets[tree],
            "a leaf lies outside of its tree");
  }
  const ListwiseMetric metric = make_metric(gain, discount, scale, weight, own_offsets);
  const std::vector<int32_t> query_of_row = queries_of_rows(own_offsets);
  std::vector<std::vector<double>> curves(static_cast<size_t>(n_trees));
  {
    nb::gil_scoped_release unlocked;
    const double cost = 1000.0 * static_cast<double>(n_rows);  // a row moves in several nodes
    parallel_for(n_trees, n_threads, cost, [&](int64_t tree) {
      curves[tree] = strength_curve(trees, tree, leaves.data(), own_offsets, query_of_row, metric);
    });
  }
  nb::list result;
  for (auto& curve : curves) result.append(to_numpy(std::move(curve)));
  return result;
}

}  // namespace

void bind_grown_forests(nb::module_& m) {
  m.def("add_out_of_bag", &add_out_of_bag_checked, nb::arg("features"), nb::arg("trees"),
        nb::arg("sample"), nb::kw_only(), nb::arg("seed"), nb::arg("first_tree"), nb::arg("sums"),
        nb::arg("counts"), nb::arg("n_threads"),
        "Add what trees say of the rows that their samples did not hold, as grow_forest does.");
  m.def("find_leaves", &find_leaves_checked, nb::arg("ensemble"), nb::arg("x"),
        nb::arg("fill").none(), nb::arg("n_threads"), "Leaf of every (row, tree), row by row.");
  m.def("strength_curves", &strength_curves, nb::arg("ensemble"), nb::arg("leaves"),
        nb::arg("offsets"), nb::arg("gain"), nb::arg("discount"), nb::arg("scale"),
        nb::arg("weight"), nb::arg("n_threads"),
        "Mean of a metric before the first and after each split of each tree.");
}

}  // namespace rankgrove
