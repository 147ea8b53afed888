#include "forests/grown/leaves.hpp"

#include <algorithm>
#include <cmath>

#include "common/parallel.hpp"

namespace rankgrove::forests {
namespace {

constexpr int64_t kRowsPerBlock = 1024;
constexpr double kNanosecondsPerRow = 50.0;  // to walk down a tree

}  // namespace

void find_leaves(const MatrixView& x, const std::vector<float>& fill, const EnsembleArrays& trees,
                 int32_t* leaves, int n_threads) {
  const int64_t n_trees = trees.n_trees();
  const double cost = kNanosecondsPerRow * kRowsPerBlock * static_cast<double>(n_trees);
  parallel_for((x.n_rows + kRowsPerBlock - 1) / kRowsPerBlock, n_threads, cost, [&](int64_t block) {
    const int64_t end = std::min(x.n_rows, (block + 1) * kRowsPerBlock);
    for (int64_t tree = 0; tree < n_trees; ++tree) {
      const int64_t root = trees.tree_offsets[tree];
      for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
        int32_t node = 0;
        while (trees.left[root + node] >= 0) {
          const int32_t f = trees.feature[root + node];
          float value = x.data[row * x.row_stride + f * x.column_stride];
          if (std::isnan(value) && !fill.empty() && !trees.has_set(root + node)) value = fill[f];
          node = trees.left[root + node] + !trees.goes_left(root + node, value);
        }
        leaves[row * n_trees + tree] = node;
      }
    }
  });
}

}  // namespace rankgrove::forests
