#include "forests/grown/out_of_bag.hpp"

#include <algorithm>
#include <limits>

#include "common/category_bits.hpp"
#include "common/parallel.hpp"

namespace rankgrove::forests {
namespace {

constexpr int64_t kRowsPerBlock = 1024;
constexpr int64_t kMostTreesAtOnce = 32;      // a round of work for the threads
constexpr int64_t kRowsAtOnce = 1 << 19;      // of these trees, so that they take little memory
constexpr double kNanosecondsPerDraw = 10.0;  // of a row
constexpr double kNanosecondsPerRow = 50.0;   // to walk down a tree

// A node, as codes meet it. A leaf is its own left child, and all codes go there.
struct Step {
  int32_t left;  // child; the right one follows it
  int32_t feature;
  int32_t bin;      // value bins 0..bin go left
  int32_t missing;  // code that goes left, too, or -1
  bool has_set;     // of categories, which go left instead of bins 0..bin
};

// A tree that answers for the rows that it did not see.
struct BaggedTree {
  std::vector<Step> steps;
  std::vector<uint8_t> in_bag;  // by row
};

std::vector<Step> steps_of(const Tree& tree, const Bins& bins) {
  std::vector<Step> steps(tree.n_nodes());
  for (int32_t i = 0; i < tree.n_nodes(); ++i) {
    const int32_t f = tree.feature[i];
    steps[i] = {i, 0, std::numeric_limits<int32_t>::max(), -1, tree.categories.has(i)};
    if (f < 0) continue;
    const auto begin = bins.cuts.begin() + bins.offsets[f];
    const auto end = bins.cuts.begin() + bins.offsets[f + 1];
    const auto bin = std::lower_bound(begin, end, tree.threshold[i]) - begin;
    steps[i] = {tree.left[i], f, static_cast<int32_t>(bin),
                tree.missing_left[i] ? bins.n_bins(f) : -1, tree.categories.has(i)};
  }
  return steps;
}

// Adds what a tree says about the rows from begin to end that are not in its bag: a few rows walk
// side by side, since each waits for memory at every step.
template <typename Code>
void add_answers(const ForestFeatures& features, const Tree& tree, const BaggedTree& bagged,
                 int64_t begin, int64_t end, double* sums, int32_t* counts) {
  constexpr int kSideBySide = 8;
  const int64_t stride = features.binned->n_features();
  const Code* codes = features.row_codes<Code>();
  const Step* const steps = bagged.steps.data();
  const auto next = [&](int32_t node, int64_t row) {
    const Step& step = steps[node];
    const int32_t code = features.row_by_row
                             ? codes[row * stride + step.feature]
                             : features.binned->code<Code>(step.feature, static_cast<int32_t>(row));
    if (step.has_set) [[unlikely]] {
      return step.left + !((code == step.missing) | has_category(tree.categories.of(node), code));
    }
    return step.left + !((code <= step.bin) | (code == step.missing));
  };
  int64_t rows[kSideBySide];
  while (begin < end) {
    int n_rows = 0;
    for (; begin < end && n_rows < kSideBySide; ++begin) {
      rows[n_rows] = begin;
      n_rows += !bagged.in_bag[begin];
    }
    int32_t nodes[kSideBySide] = {};
    for (bool moved = true; moved;) {
      moved = false;
      for (int i = 0; i < n_rows; ++i) {
        const int32_t reached = next(nodes[i], rows[i]);
        moved |= reached != nodes[i];
        nodes[i] = reached;
      }
    }
    for (int i = 0; i < n_rows; ++i) {
      sums[rows[i]] += tree.value[nodes[i]];
      ++counts[rows[i]];
    }
  }
}

}  // namespace

void add_out_of_bag(const ForestFeatures& features, std::vector<std::shared_ptr<Tree>>& trees,
                    const ForestSample& sample, uint64_t seed, int64_t first_tree, double* sums,
                    int32_t* counts, int n_threads) {
  const int64_t n = features.n_rows();
  const auto n_trees = static_cast<int64_t>(trees.size());
  const int64_t at_once = std::clamp<int64_t>(kRowsAtOnce / std::max<int64_t>(n, 1), n_threads,
                                              std::max<int64_t>(n_threads, kMostTreesAtOnce));
  std::vector<BaggedTree> bagged(static_cast<size_t>(std::min(n_trees, at_once)));
  std::vector<double> new_sums(sums, sums + n);
  std::vector<int32_t> new_counts(counts, counts + n);
  int64_t first = 0;
  try {
    for (; first < n_trees; first += at_once) {
      const int64_t n_round = std::min(at_once, n_trees - first);
      const double draw_cost = kNanosecondsPerDraw * static_cast<double>(n);
      parallel_for(n_round, n_threads, draw_cost, [&](int64_t i) {
        if (!trees[first + i]) return;
        bagged[i].steps = steps_of(*trees[first + i], *features.binned->bins);
        const uint64_t own_seed = tree_seed(seed, static_cast<uint64_t>(first_tree + first + i));
        bagged[i].in_bag = draw_bag(sample, features.offsets, own_seed);
      });
      const double block_cost = kNanosecondsPerRow * static_cast<double>(kRowsPerBlock * n_round);
      const int64_t n_blocks = (n + kRowsPerBlock - 1) / kRowsPerBlock;
      parallel_for(n_blocks, n_threads, block_cost, [&](int64_t block) {
        const int64_t begin = block * kRowsPerBlock;
        const int64_t end = std::min(n, begin + kRowsPerBlock);
        const auto add = features.binned->wide ? add_answers<uint16_t> : add_answers<uint8_t>;
        for (int64_t i = 0; i < n_round; ++i) {
          if (!trees[first + i]) continue;
          add(features, *trees[first + i], bagged[i], begin, end, new_sums.data(),
              new_counts.data());
        }
      });
      std::copy(new_sums.begin(), new_sums.end(), sums);
      std::copy(new_counts.begin(), new_counts.end(), counts);
    }
  } catch (...) {
    for (; first < n_trees; ++first) trees[first].reset();
    throw;
  }
}

}  // namespace rankgrove::forests
