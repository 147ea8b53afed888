#include "trees/apply_tree.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "trees/row_partition.hpp"

namespace rankgrove {
namespace {

CodeRule rule_of(const Tree& tree, int32_t node, const Bins& bins) {
  const int32_t f = tree.feature[node];
  CodeRule rule{.feature = f, .missing_left = tree.missing_left[node] != 0};
  if (tree.categories.has(node)) {
    const auto set = tree.categories.of(node);
    rule.categories = std::make_shared<const std::vector<uint32_t>>(set.begin(), set.end());
    return rule;
  }
  const auto first = bins.cuts.begin() + bins.offsets[f];
  const auto last = bins.cuts.begin() + bins.offsets[f + 1];
  rule.bin = static_cast<int32_t>(std::lower_bound(first, last, tree.threshold[node]) - first);
  return rule;
}

}  // namespace

void apply_tree(const Tree& tree, const BinnedMatrix& binned, const int32_t* rows, int64_t n_rows,
                int n_threads, int32_t* leaf_of_row) {
  RowPartition partition(binned);
  std::vector<int32_t> scratch(n_rows);
  partition.reset(rows, n_rows, scratch.data(), n_threads);
  std::vector<std::pair<int64_t, int64_t>> range(tree.n_nodes());
  range[0] = {0, n_rows};
  for (int32_t node = 0; node < tree.n_nodes(); ++node) {
    if (tree.is_leaf(node)) continue;
    const auto [begin, end] = range[node];
    const int64_t middle =
        partition.split(begin, end, rule_of(tree, node, *binned.bins), n_threads);
    range[tree.left[node]] = {begin, middle};
    range[tree.left[node] + 1] = {middle, end};
  }
  for (int32_t node = 0; node < tree.n_nodes(); ++node) {
    if (!tree.is_leaf(node)) continue;
    for (int64_t i = range[node].first; i < range[node].second; ++i) {
      leaf_of_row[partition.rows()[i]] = node;
    }
  }
  binned.release();
}

}  // namespace rankgrove
