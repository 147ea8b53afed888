#include "trees/tree_grower.hpp"

#include <algorithm>
#include <utility>

#include "common/parallel.hpp"
#include "trees/apply_tree.hpp"
#include "trees/leaf_sums.hpp"

namespace rankgrove {

TreeGrower::TreeGrower(std::shared_ptr<const BinnedMatrix> binned, GrowOptions options,
                       RowShare share, int n_threads)
    : state_(std::move(binned), std::move(options), std::move(share), n_threads),
      histograms_(state_),
      search_(state_.layout, *state_.binned->bins, state_.options.search_rules()),
      node_growth_(state_, histograms_, search_),
      oblivious_growth_(state_, histograms_, search_) {}

// What a tree costs, as far as it can be estimated beforehand: its first histogram, and searches.
double TreeGrower::tree_nanoseconds(int64_t n_rows) const {
  const double n_searches =
      std::min<double>(state_.options.max_leaf_nodes, static_cast<double>(n_rows));
  return histograms_.nanoseconds(n_rows) + n_searches * node_growth_.search_nanoseconds();
}

Tree TreeGrower::grow(const float* gradients, const float* hessians, const int32_t* rows,
                      int64_t n_rows, uint64_t seed) {
  const BinnedMatrix& binned = *state_.binned;
  state_.samples_all_rows = rows == nullptr;
  if (state_.samples_all_rows) n_rows = binned.n_rows;
  const ThreadPool::Watch watch(paid_threads(state_.n_threads, tree_nanoseconds(n_rows)));
  const GradientOptions packing{state_.options.least_squares_splits, n_rows, seed,
                                state_.n_threads};
  pack_gradients(gradients, hessians, binned.n_rows, state_.share, packing, state_.packed);
  leaf_of_row_.resize(binned.n_rows);
  state_.partition.reset(rows, n_rows, leaf_of_row_.data());
  state_.features.start_tree(seed);

  Tree tree;
  const std::vector<GrownLeaf> leaves = state_.options.growth == Growth::kOblivious
                                            ? oblivious_growth_.grow(tree)
                                            : node_growth_.grow(tree);
  set_node_values(state_, leaves, gradients, hessians, tree, leaf_of_row_.data());
  if (!state_.samples_all_rows) {
    const std::vector<int32_t> all = apply_tree(tree, binned, state_.n_threads);
    std::copy(all.begin(), all.end(),
              leaf_of_row_.begin());  // Python has a view: do not reallocate
  }
  binned.release();
  return tree;
}

}  // namespace rankgrove
