#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/forest_inputs.hpp"
#include "forests/sharded/sharded_forest.hpp"
#include "trees/tree.hpp"

namespace rankgrove {
namespace {

using namespace forests;

// The forest has references to its data, and keeps their owner alive.
struct BoundForest {
  std::shared_ptr<const BoundTargets> targets;
  ShardedForest forest;
};

std::shared_ptr<BoundForest> make_forest(std::shared_ptr<const BoundTargets> targets,
                                         const ForestOptions& options, const ForestSample& sample,
                                         uint64_t seed, int64_t first_tree, int64_t n_trees,
                                         int rank, int size, int64_t largest_sample,
                                         int64_t most_moved_rows, int n_threads) {
  const ForestData data = targets->data();
  require_fitting(options, sample, data);
  require(options.listwise_levels == 0 && !options.custom,
          "trees on rows of several workers take pointwise splits by a native criterion only");
  require(data.targets.target_grid.exact() && data.targets.square_grid.exact(),
          "sums over rows of several workers must be exact");
  require(n_trees >= 0 && first_tree >= 0, "numbers of trees must not be negative");
  require(size >= 1 && rank >= 0 && rank < size, "a rank must be below the number of workers");
  require(most_moved_rows >= kFewestMovedRows,
          "most_moved_rows must be at least " + std::to_string(kFewestMovedRows));
  ShardedGrowth growth;
  growth.rank = rank;
  growth.size = size;
  growth.largest_sample = largest_sample;
  growth.most_moved_rows = most_moved_rows;
  growth.n_threads = n_threads;
  nb::gil_scoped_release unlocked;
  return std::shared_ptr<BoundForest>(new BoundForest{
      targets, ShardedForest(data, options, sample, seed, first_tree, n_trees, growth)});
}

std::vector<std::string_view> views(const std::vector<nb::bytes>& messages) {
  std::vector<std::string_view> result;
  for (const nb::bytes& message : messages) result.emplace_back(message.c_str(), message.size());
  return result;
}

nb::bytes to_bytes(const std::string& message) { return nb::bytes(message.data(), message.size()); }

std::vector<int64_t> sampled_documents(const ForestFeatures& features, const ForestSample& sample,
                                       uint64_t seed, int64_t first_tree, int64_t n_trees) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < n_trees; ++i) {
    const uint64_t own_seed = tree_seed(seed, static_cast<uint64_t>(first_tree + i));
    sizes.push_back(static_cast<int64_t>(draw_rows(sample, features.offsets, own_seed).size()));
  }
  return sizes;
}

void bind_rounds(nb::class_<BoundForest>& bound) {
  bound
      .def(
          "histograms",
          [](const BoundForest& self) {
            std::vector<int64_t> cells;
            {
              nb::gil_scoped_release unlocked;
              cells = self.forest.histograms();
            }
            return to_numpy(std::move(cells));
          },
          "Histograms of this worker's rows.")
      .def(
          "search",
          [](const BoundForest& self, In<int64_t> histograms) {
            std::string message;
            {
              nb::gil_scoped_release unlocked;
              message = self.forest.search(histograms.data(), histograms.shape(0));
            }
            return to_bytes(message);
          },
          nb::arg("histograms"), "Find the splits of this worker's nodes from summed histograms.")
      .def(
          "split",
          [](BoundForest& self, const std::vector<nb::bytes>& messages) {
            const std::vector<std::string_view> seen = views(messages);
            nb::gil_scoped_release unlocked;
            self.forest.split(seen);
          },
          nb::arg("messages"), "Take the splits that all workers have found.")
      .def(
          "pack",
          [](const BoundForest& self) {
            std::vector<std::string> packed;
            {
              nb::gil_scoped_release unlocked;
              packed = self.forest.pack();
            }
            nb::list messages;
            for (const std::string& message : packed) messages.append(to_bytes(message));
            return messages;
          },
          "Rows of small nodes, a message for each worker.")
      .def(
          "grow",
          [](const BoundForest& self, const std::vector<nb::bytes>& messages) {
            const std::vector<std::string_view> seen = views(messages);
            std::string message;
            {
              nb::gil_scoped_release unlocked;
              message = self.forest.grow(seen);
            }
            return to_bytes(message);
          },
          nb::arg("messages"), "Grow the small nodes whose rows all workers have sent here.")
      .def(
          "graft",
          [](BoundForest& self, const std::vector<nb::bytes>& messages) {
            const std::vector<std::string_view> seen = views(messages);
            nb::gil_scoped_release unlocked;
            self.forest.graft(seen);
          },
          nb::arg("messages"), "Take the sub-trees that all workers have grown.");
}

}  // namespace

void bind_sharded_forests(nb::module_& m) {
  nb::class_<BoundForest> bound(m, "ShardedForest",
                                "Trees that grow on rows of several workers, each of which has "
                                "such an object; see native/forests/sharded/sharded_forest.hpp.");
  bound
      .def(nb::new_(&make_forest), nb::arg("targets"), nb::arg("options"), nb::arg("sample"),
           nb::kw_only(), nb::arg("seed"), nb::arg("first_tree"), nb::arg("n_trees"),
           nb::arg("rank"), nb::arg("size"), nb::arg("largest_sample"), nb::arg("most_moved_rows"),
           nb::arg("n_threads"))
      .def(
          "summaries",
          [](const BoundForest& self) {
            std::pair<std::vector<int64_t>, std::vector<int64_t>> found;
            {
              nb::gil_scoped_release unlocked;
              found = self.forest.summaries();
            }
            return nb::make_tuple(to_numpy(std::move(found.first)),
                                  to_numpy(std::move(found.second)));
          },
          "Sums and maxima of new nodes, of this worker.")
      .def(
          "open",
          [](BoundForest& self, In<int64_t> sums, In<int64_t> maxima) {
            self.forest.open(sums.data(), sums.shape(0), maxima.data(), maxima.shape(0));
          },
          nb::arg("sums"), nb::arg("maxima"), "Take those of all workers.")
      .def(
          "plan", [](BoundForest& self) { return self.forest.plan(); },
          "Choose the nodes of the next round; false if there are none.")
      .def_prop_ro("searches", [](const BoundForest& self) { return self.forest.searches(); })
      .def_prop_ro("moves", [](const BoundForest& self) { return self.forest.moves(); })
      .def(
          "bounds",
          [](const BoundForest& self) {
            return to_numpy(std::vector<int64_t>(self.forest.bounds()));
          },
          "Where the histograms of each worker begin, and the end of the last.")
      .def(
          "trees",
          [](const BoundForest& self) {
            std::vector<Tree> grown;
            {
              nb::gil_scoped_release unlocked;
              grown = self.forest.trees();
            }
            nb::list trees;
            for (Tree& tree : grown) trees.append(std::make_shared<Tree>(std::move(tree)));
            return trees;
          },
          "The trees, when nothing is left to do.");
  bind_rounds(bound);
  m.def(
      "sampled_documents",
      [](const ForestFeatures& features, const ForestSample& sample, uint64_t seed,
         int64_t first_tree, int64_t n_trees) {
        require_drawable(sample, features.offsets);
        return to_numpy(sampled_documents(features, sample, seed, first_tree, n_trees));
      },
      nb::arg("features"), nb::arg("sample"), nb::kw_only(), nb::arg("seed"), nb::arg("first_tree"),
      nb::arg("n_trees"), "How many of these documents the sample of each tree has.");
}

}  // namespace rankgrove
