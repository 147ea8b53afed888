#include "forests/leaves.hpp"

#include <algorithm>
#include <cmath>

#include "common/parallel.hpp"

namespace rankgrove::forests {
namespace {

constexpr int64_t kRowsPerBlock = 1024;
constexpr double kNanosecondsPerRow = 50.0;  // to walk down a tree

// Value bins 0..bin of a node's feature go left.
std::vector<int32_t> split_bins(const Tree& tree, const Bins& bins) {
  std::vector<int32_t> result(tree.n_nodes(), 0);
  for (int32_t i = 0; i < tree.n_nodes(); ++i) {
    const int32_t f = tree.feature[i];
    if (f < 0) continue;
    const auto begin = bins.cuts.begin() + bins.offsets[f];
    const auto end = bins.cuts.begin() + bins.offsets[f + 1];
    result[i] = static_cast<int32_t>(std::lower_bound(begin, end, tree.threshold[i]) - begin);
  }
  return result;
}

template <typename Code>
void add_tree(const ForestData& data, const Tree& tree, const std::vector<uint8_t>& in_bag,
              double* sums, int32_t* counts, int n_threads) {
  const Bins& bins = *data.binned->bins;
  const std::vector<int32_t> bin = split_bins(tree, bins);
  const int64_t stride = data.binned->n_features();
  const Code* codes = data.row_codes<Code>();
  const int64_t n = data.n_rows();
  parallel_for((n + kRowsPerBlock - 1) / kRowsPerBlock, n_threads,
               kNanosecondsPerRow * kRowsPerBlock, [&](int64_t block) {
                 const int64_t end = std::min(n, (block + 1) * kRowsPerBlock);
                 for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
                   if (in_bag[row]) continue;
                   int32_t node = 0;
                   while (tree.left[node] >= 0) {
                     const int32_t f = tree.feature[node];
                     const int32_t code = codes[row * stride + f];
                     const bool left =
                         code == bins.n_bins(f) ? tree.missing_left[node] != 0 : code <= bin[node];
                     node = tree.left[node] + !left;
                   }
                   sums[row] += tree.value[node];
                   ++counts[row];
                 }
               });
}

}  // namespace

void find_leaves(const MatrixView& x, const std::vector<float>& fill, const TreeArrays& trees,
                 int32_t* leaves, int n_threads) {
  const double cost = kNanosecondsPerRow * kRowsPerBlock * static_cast<double>(trees.n_trees);
  parallel_for((x.n_rows + kRowsPerBlock - 1) / kRowsPerBlock, n_threads, cost, [&](int64_t block) {
    const int64_t end = std::min(x.n_rows, (block + 1) * kRowsPerBlock);
    for (int64_t tree = 0; tree < trees.n_trees; ++tree) {
      const int64_t root = trees.offsets[tree];
      for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
        int32_t node = 0;
        while (trees.left[root + node] >= 0) {
          const int32_t f = trees.feature[root + node];
          float value = x.data[row * x.row_stride + f * x.column_stride];
          if (std::isnan(value) && !fill.empty()) value = fill[f];
          const bool left = std::isnan(value) ? trees.missing_left[root + node] != 0
                                              : value <= trees.threshold[root + node];
          node = trees.left[root + node] + !left;
        }
        leaves[row * trees.n_trees + tree] = node;
      }
    }
  });
}

void add_out_of_bag(const ForestData& data, const std::vector<std::shared_ptr<Tree>>& trees,
                    const SampleOptions& sample, uint64_t seed,
                    const std::vector<int64_t>& tree_numbers, double* sums, int32_t* counts,
                    int n_threads) {
  std::vector<uint8_t> in_bag;
  for (size_t i = 0; i < trees.size(); ++i) {
    in_bag.assign(static_cast<size_t>(data.n_rows()), 0);
    const uint64_t own_seed = tree_seed(seed, static_cast<uint64_t>(tree_numbers[i]));
    for (const int32_t row : draw_rows(sample, data.offsets, own_seed)) in_bag[row] = 1;
    if (data.binned->wide) {
      add_tree<uint16_t>(data, *trees[i], in_bag, sums, counts, n_threads);
    } else {
      add_tree<uint8_t>(data, *trees[i], in_bag, sums, counts, n_threads);
    }
  }
}

}  // namespace rankgrove::forests
