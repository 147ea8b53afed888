// The answers of a grown tree's nodes.
#include <algorithm>

#include "common/parallel.hpp"
#include "trees/tree_grower.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kBlock = 8192;
constexpr double kNanosecondsPerRow = 2.0;

// What decides the value of a leaf, as integers.
struct LeafSums {
  int64_t gradient = 0, hessian = 0, rows = 0;

  LeafSums& operator+=(const LeafSums& other) {
    gradient += other.gradient;
    hessian += other.hessian;
    rows += other.rows;
    return *this;
  }
};

}  // namespace

// Sums gradients, Hessians and rows of each leaf over all workers, in 64-bit integers, and sets the
// Newton step as the node's answer.
void TreeGrower::fill_leaves(Tree& tree, const float* gradients, const float* hessians) {
  struct Block {
    size_t leaf;
    int64_t begin, end;
    LeafSums sums;
  };
  std::vector<Block> blocks;
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const auto& [node, first, last, lower, upper] = leaves_[leaf];
    for (int64_t begin = first; begin < last; begin += kBlock) {
      blocks.push_back({leaf, begin, std::min(last, begin + kBlock), {}});
    }
  }
  const int32_t* rows = partition_.rows();
  const double cost = kNanosecondsPerRow * static_cast<double>(partition_.size()) /
                      static_cast<double>(std::max<size_t>(blocks.size(), 1));
  parallel_for(static_cast<int64_t>(blocks.size()), n_threads_, cost, [&](int64_t b) {
    Block& block = blocks[b];
    const int32_t node = leaves_[block.leaf].node;
    LeafSums sums{0, 0, block.end - block.begin};
    for (int64_t i = block.begin; i < block.end; ++i) {
      const int32_t row = rows[i];
      leaf_of_row_[row] = node;
      sums.gradient += static_cast<int64_t>(gradients[row] * packed_.gradient_scale64);
      if (hessians && hessians[row] > 0.0f) {
        sums.hessian += static_cast<int64_t>(hessians[row] * packed_.hessian_scale64);
      }
    }
    block.sums = sums;
  });
  std::vector<LeafSums> of_leaf(leaves_.size()), of_node(tree.n_nodes());
  for (const Block& block : blocks) of_leaf[block.leaf] += block.sums;
  share_.sum(&of_leaf[0].gradient, sizeof(LeafSums) / sizeof(int64_t) * of_leaf.size());
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) of_node[leaves_[leaf].node] = of_leaf[leaf];
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  for (int32_t node = tree.n_nodes() - 1; node >= 0; --node) {
    LeafSums& sums = of_node[node];
    const int32_t left = tree.left[node];
    if (!tree.is_leaf(node)) (sums = of_node[left]) += of_node[left + 1];
    const double gradient = static_cast<double>(sums.gradient) / packed_.gradient_scale64;
    const double hessian = hessians ? static_cast<double>(sums.hessian) / packed_.hessian_scale64
                                    : static_cast<double>(sums.rows);
    tree.value[node] = node_answer(gradient, hessian, options_.rules.l2, -kUnbounded, kUnbounded);
    tree.count[node] = static_cast<uint32_t>(sums.rows);
  }
  for (const Leaf& leaf : leaves_) {
    tree.value[leaf.node] = std::clamp(tree.value[leaf.node], leaf.lower, leaf.upper);
  }
}

}  // namespace rankgrove
