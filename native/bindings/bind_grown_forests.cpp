#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/forest_inputs.hpp"
#include "common/parallel.hpp"
#include "forests/data/forest_features.hpp"
#include "forests/grown/leaves.hpp"
#include "forests/grown/strength.hpp"

namespace rankgrove {
namespace {

using namespace forests;

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
  const TreeArrays trees = checked_trees(tree_offsets, feature, threshold, left, missing_left,
                                         std::numeric_limits<int32_t>::max());
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

void bind_grown_forests(nb::module_& m) {
  m.def("find_leaves", &find_leaves_checked, nb::arg("x"), nb::arg("fill").none(),
        nb::arg("tree_offsets"), nb::arg("feature"), nb::arg("threshold"), nb::arg("left"),
        nb::arg("missing_left"), nb::arg("n_threads"), "Leaf of every (row, tree), row by row.");
  m.def("strength_curves", &strength_curves, nb::arg("tree_offsets"), nb::arg("feature"),
        nb::arg("threshold"), nb::arg("left"), nb::arg("missing_left"), nb::arg("value"),
        nb::arg("leaves"), nb::arg("offsets"), nb::arg("gain"), nb::arg("discount"),
        nb::arg("scale"), nb::arg("weight"), nb::arg("n_threads"),
        "Mean of a metric before the first and after each split of each tree.");
}

}  // namespace rankgrove
