#include "trees/leaf_sums.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/parallel.hpp"
#include "trees/split_search.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kBlock = 8192;
constexpr double kNanosecondsPerRow = 2.0;

// The sums that determine the value of a leaf, as integers.
struct LeafSums {
  int64_t gradient = 0, hessian = 0, rows = 0;

  LeafSums& operator+=(const LeafSums& other) {
    gradient += other.gradient;
    hessian += other.hessian;
    rows += other.rows;
    return *this;
  }
};

// Writes the leaf of some rows, and returns their sums. Not inlined: inside the loop over threads
// the compiler keeps less in registers, and two threads together took twice the time of one.
[[gnu::noinline]] LeafSums sum_rows(const int32_t* rows, int64_t n_rows, int32_t node,
                                    const float* gradients, const float* hessians,
                                    double gradient_scale, double hessian_scale,
                                    int32_t* leaf_of_row) {
  LeafSums sums{0, 0, n_rows};
  for (int64_t i = 0; i < n_rows; ++i) {
    const int32_t row = rows[i];
    leaf_of_row[row] = node;
    sums.gradient += static_cast<int64_t>(gradients[row] * gradient_scale);
    if (hessians && hessians[row] > 0.0f) {
      sums.hessian += static_cast<int64_t>(hessians[row] * hessian_scale);
    }
  }
  return sums;
}

// The range of every node by monotone constraints, from the Newton steps in `tree.value`: the mean
// of the steps of two children is the limit of both subtrees.
std::vector<std::pair<double, double>> newton_ranges(const Tree& tree,
                                                     const std::vector<int8_t>& monotone) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> ranges(tree.n_nodes(), {-kUnbounded, kUnbounded});
  for (int32_t node = 0; node < tree.n_nodes(); ++node) {  // parents come first
    if (tree.is_leaf(node)) continue;
    const auto [lower, upper] = ranges[node];
    const int32_t left = tree.left[node], right = left + 1;
    ranges[left] = ranges[right] = {lower, upper};
    const int direction = monotone[tree.feature[node]];
    if (direction == 0) continue;
    const double between = 0.5 * (std::clamp(tree.value[left], lower, upper) +
                                  std::clamp(tree.value[right], lower, upper));
    ranges[direction > 0 ? left : right].second = between;
    ranges[direction > 0 ? right : left].first = between;
  }
  return ranges;
}

}  // namespace

void set_node_values(const GrowthState& state, const std::vector<GrownLeaf>& leaves,
                     const float* gradients, const float* hessians, Tree& tree,
                     int32_t* leaf_of_row) {
  const PackedGradients& packed = state.packed;
  struct Block {
    size_t leaf;
    int64_t begin, end;
    LeafSums sums;
  };
  std::vector<Block> blocks;
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const auto& [node, first, last, lower, upper] = leaves[leaf];
    for (int64_t begin = first; begin < last; begin += kBlock) {
      blocks.push_back({leaf, begin, std::min(last, begin + kBlock), {}});
    }
  }
  const int32_t* rows = state.partition.rows();
  const double cost = kNanosecondsPerRow * static_cast<double>(state.partition.size()) /
                      static_cast<double>(std::max<size_t>(blocks.size(), 1));
  parallel_for(static_cast<int64_t>(blocks.size()), state.n_threads, cost, [&](int64_t b) {
    Block& block = blocks[b];
    block.sums =
        sum_rows(rows + block.begin, block.end - block.begin, leaves[block.leaf].node, gradients,
                 hessians, packed.gradient_scale64, packed.hessian_scale64, leaf_of_row);
  });
  std::vector<LeafSums> of_leaf(leaves.size()), of_node(tree.n_nodes());
  for (const Block& block : blocks) of_leaf[block.leaf] += block.sums;
  state.share.sum(&of_leaf[0].gradient, sizeof(LeafSums) / sizeof(int64_t) * of_leaf.size());
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) of_node[leaves[leaf].node] = of_leaf[leaf];
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  const bool inherits = state.options.growth == Growth::kOblivious && state.options.has_limits();
  std::vector<uint8_t> too_small(inherits ? tree.n_nodes() : 0);
  for (int32_t node = tree.n_nodes() - 1; node >= 0; --node) {
    LeafSums& sums = of_node[node];
    const int32_t left = tree.left[node];
    if (!tree.is_leaf(node)) (sums = of_node[left]) += of_node[left + 1];
    const double gradient = static_cast<double>(sums.gradient) / packed.gradient_scale64;
    const double hessian = hessians ? static_cast<double>(sums.hessian) / packed.hessian_scale64
                                    : static_cast<double>(sums.rows);
    tree.value[node] = node_answer(gradient, hessian, state.options.rules, -kUnbounded, kUnbounded);
    tree.count[node] = sums.rows;
    if (inherits) too_small[node] = state.options.too_small(sums.rows, hessian);
  }
  for (int32_t node = 0; inherits && node < tree.n_nodes(); ++node) {  // parents come first
    if (tree.is_leaf(node)) continue;
    for (const int32_t child : {tree.left[node], tree.left[node] + 1}) {
      if (too_small[child]) tree.value[child] = tree.value[node];
    }
  }
  // Least squares found the ranges of the leaves in units of the gradients.
  const std::vector<int8_t>& monotone = state.options.rules.monotone;
  const bool in_other_units = state.options.least_squares_splits && !monotone.empty();
  const auto ranges =
      in_other_units ? newton_ranges(tree, monotone) : std::vector<std::pair<double, double>>();
  for (const GrownLeaf& leaf : leaves) {
    const auto [lower, upper] =
        in_other_units ? ranges[leaf.node] : std::pair(leaf.lower, leaf.upper);
    tree.value[leaf.node] = std::clamp(tree.value[leaf.node], lower, upper);
  }
}

}  // namespace rankgrove
