#include "forests/grown/out_of_bag.hpp"

#include <algorithm>

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

// What the tree says about the rows that are not in the bag.
template <typename Code>
void answer_rows(const ForestFeatures& features, const Tree& tree,
                 const std::vector<uint8_t>& in_bag, int n_threads, std::vector<double>& answers) {
  const Bins& bins = *features.binned->bins;
  const std::vector<int32_t> bin = split_bins(tree, bins);
  const int64_t stride = features.binned->n_features();
  const Code* codes = features.row_codes<Code>();
  const bool row_by_row = features.row_by_row;
  const int64_t n = features.n_rows();
  const auto answer = [&](int64_t row) {
    int32_t node = 0;
    while (tree.left[node] >= 0) {
      const int32_t f = tree.feature[node];
      const int32_t code = row_by_row ? codes[row * stride + f]
                                      : features.binned->code<Code>(f, static_cast<int32_t>(row));
      const bool left = code == bins.n_bins(f) ? tree.missing_left[node] != 0 : code <= bin[node];
      node = tree.left[node] + !left;
    }
    return tree.value[node];
  };
  const double cost = kNanosecondsPerRow * kRowsPerBlock;
  parallel_for((n + kRowsPerBlock - 1) / kRowsPerBlock, n_threads, cost, [&](int64_t block) {
    const int64_t end = std::min(n, (block + 1) * kRowsPerBlock);
    for (int64_t row = block * kRowsPerBlock; row < end; ++row) {
      if (!in_bag[row]) answers[row] = answer(row);
    }
  });
}

}  // namespace

void add_out_of_bag(const ForestFeatures& features, std::vector<std::shared_ptr<Tree>>& trees,
                    const ForestSample& sample, uint64_t seed, int64_t first_tree, double* sums,
                    int32_t* counts, int n_threads) {
  const auto n = static_cast<size_t>(features.n_rows());
  std::vector<uint8_t> in_bag;
  std::vector<double> answers(n);
  size_t i = 0;
  try {
    for (; i < trees.size(); ++i) {
      if (!trees[i]) continue;
      in_bag.assign(n, 0);
      const uint64_t own_seed = tree_seed(seed, static_cast<uint64_t>(first_tree) + i);
      const SampledRows drawn = draw_distinct_rows(sample, features.offsets, own_seed);
      for (const int32_t row : drawn.rows) in_bag[row] = 1;
      if (features.binned->wide) {
        answer_rows<uint16_t>(features, *trees[i], in_bag, n_threads, answers);
      } else {
        answer_rows<uint8_t>(features, *trees[i], in_bag, n_threads, answers);
      }
      for (size_t row = 0; row < n; ++row) {
        if (in_bag[row]) continue;
        sums[row] += answers[row];
        ++counts[row];
      }
    }
  } catch (...) {
    for (; i < trees.size(); ++i) trees[i].reset();
    throw;
  }
}

}  // namespace rankgrove::forests
