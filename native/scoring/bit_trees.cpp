#include "scoring/bit_trees.hpp"

#include <algorithm>
#include <bit>
#include <memory>

namespace rankgrove {

namespace {

constexpr int32_t kWords = sizeof(RowBits) / sizeof(uint64_t);
constexpr int32_t kTileColumns = 16;
constexpr int32_t kTogether = 4;  // trees whose values are added in one pass over the rows
constexpr int32_t kMostSlots = 2 * BitTrees::kMostLeaves;

// The levels of a tree if all nodes of a level ask the same and all leaves are equally deep, else
// -1.
int32_t oblivious_levels(const EnsembleArrays& ensemble, int32_t tree) {
  const int64_t begin = ensemble.tree_offsets[tree];
  const int64_t n_leaves = (ensemble.tree_offsets[tree + 1] - begin + 1) / 2;
  if (!std::has_single_bit(static_cast<uint64_t>(n_leaves))) return -1;
  const int32_t n_levels = std::countr_zero(static_cast<uint64_t>(n_leaves));
  if (n_levels > BitTrees::kMostLevels) return -1;
  std::vector<int64_t> level{begin};
  std::vector<int64_t> next;
  for (int32_t depth = 0; depth < n_levels; ++depth) {
    next.clear();
    for (int64_t node : level) {
      if (ensemble.is_leaf(node) || ensemble.feature[node] != ensemble.feature[level[0]] ||
          ensemble.threshold[node] != ensemble.threshold[level[0]] ||
          ensemble.missing_left[node] != ensemble.missing_left[level[0]]) {
        return -1;
      }
      next.push_back(begin + ensemble.left[node]);
      next.push_back(begin + ensemble.left[node] + 1);
    }
    level.swap(next);
  }
  return n_levels;
}

// Adds the values of four trees, in their order, to the score of each row.
void add_four(const uint8_t (*leaf)[kBitRows], const double* const* values, int32_t n_rows,
              double* scores) {
  const double* first = values[0];
  const double* second = values[1];
  const double* third = values[2];
  const double* fourth = values[3];
  for (int32_t i = 0; i < n_rows; ++i) {
    double score = scores[i];
    score += first[leaf[0][i]];
    score += second[leaf[1][i]];
    score += third[leaf[2][i]];
    score += fourth[leaf[3][i]];
    scores[i] = score;
  }
}

void add_one(const uint8_t* leaf, const double* values, int32_t n_rows, double* scores) {
  for (int32_t i = 0; i < n_rows; ++i) scores[i] += values[leaf[i]];
}

}  // namespace

// What one thread needs to score a block; allocated once per thread and never shrunk.
struct BitTrees::Scratch {
  alignas(64) float tile[kTileColumns * Columns::kTileRows];
  RowBits slots[kMostSlots];
  RowBits planes[9];
  alignas(32) uint8_t leaf[kTogether][kBitRows];
  alignas(32) uint8_t leaf_high[kBitRows];
  std::unique_ptr<RowBits[]> predicates;
  size_t n_predicates = 0;

  static Scratch& of_thread(size_t n_predicates) {
    thread_local std::unique_ptr<Scratch> scratch = std::make_unique<Scratch>();
    if (scratch->n_predicates < n_predicates) {
      scratch->predicates.reset();
      scratch->predicates.reset(new RowBits[n_predicates]);
      scratch->n_predicates = n_predicates;
    }
    return *scratch;
  }
};

bool BitTrees::accepts(const EnsembleArrays& ensemble, int32_t tree) {
  const int64_t n_nodes = ensemble.tree_offsets[tree + 1] - ensemble.tree_offsets[tree];
  return n_nodes < 2 * kMostLeaves || oblivious_levels(ensemble, tree) >= 0;
}

BitTrees::BitTrees(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
                   const MissingPolicy& policy, bool simd)
    : kernels_(bit_kernels(simd)), columns_(ensemble, trees, policy) {
  std::vector<std::vector<float>> thresholds(columns_.size());
  for (int32_t tree : trees) {
    for (int64_t i = ensemble.tree_offsets[tree]; i < ensemble.tree_offsets[tree + 1]; ++i) {
      if (ensemble.is_leaf(i)) continue;
      const int32_t column = columns_.find(ensemble.feature[i], ensemble.missing_left[i]);
      thresholds[column].push_back(ensemble.threshold[i]);
    }
  }
  threshold_offsets_.push_back(0);
  for (auto& of_column : thresholds) {
    std::ranges::sort(of_column);
    const auto repeated = std::ranges::unique(of_column);
    of_column.erase(repeated.begin(), repeated.end());
    thresholds_.insert(thresholds_.end(), of_column.begin(), of_column.end());
    threshold_offsets_.push_back(static_cast<int32_t>(thresholds_.size()));
  }
  std::vector<int32_t> by_output(trees.begin(), trees.end());
  std::ranges::stable_sort(by_output, {}, [&](int32_t t) { return ensemble.tree_outputs[t]; });
  for (int32_t tree : by_output) {
    const int32_t n_levels = oblivious_levels(ensemble, tree);
    if (n_levels >= 0) {
      add_oblivious_tree(ensemble, tree, n_levels);
    } else {
      add_tree(ensemble, tree);
    }
  }
}

uint32_t BitTrees::predicate(const EnsembleArrays& ensemble, int64_t node) const {
  const int32_t column = columns_.find(ensemble.feature[node], ensemble.missing_left[node]);
  const auto begin = thresholds_.begin() + threshold_offsets_[column];
  const auto end = thresholds_.begin() + threshold_offsets_[column + 1];
  return static_cast<uint32_t>(std::lower_bound(begin, end, ensemble.threshold[node]) -
                               thresholds_.begin());
}

void BitTrees::add_tree(const EnsembleArrays& ensemble, int32_t tree) {
  const int64_t begin = ensemble.tree_offsets[tree];
  const auto n_nodes = static_cast<int32_t>(ensemble.tree_offsets[tree + 1] - begin);
  const int32_t n_leaves = (n_nodes + 1) / 2;
  trees_.push_back({ensemble.tree_outputs[tree], n_leaves, -1, static_cast<int64_t>(nodes_.size()),
                    static_cast<int64_t>(values_.size())});
  std::vector<int32_t> slot(n_nodes);
  int32_t next_leaf = 0;
  int32_t next_split = kMostLeaves;
  for (int32_t i = 0; i < n_nodes; ++i) {
    if (ensemble.is_leaf(begin + i)) {
      values_.push_back(ensemble.value[begin + i] * ensemble.tree_weights[tree]);
      slot[i] = next_leaf++;
    } else {
      slot[i] = next_split++;
    }
  }
  const auto words = [&](int32_t node) { return static_cast<uint16_t>(slot[node] * kWords); };
  for (int32_t i = 0; i < n_nodes; ++i) {
    if (ensemble.is_leaf(begin + i)) continue;
    const int32_t left = ensemble.left[begin + i];
    nodes_.push_back(
        {predicate(ensemble, begin + i) * kWords, words(i), words(left), words(left + 1)});
  }
}

void BitTrees::add_oblivious_tree(const EnsembleArrays& ensemble, int32_t tree, int32_t n_levels) {
  const int64_t begin = ensemble.tree_offsets[tree];
  trees_.push_back({ensemble.tree_outputs[tree], 1 << n_levels, n_levels,
                    static_cast<int64_t>(nodes_.size()), static_cast<int64_t>(values_.size())});
  // Level by level, from the root: the root's answer is the highest bit of a leaf's number.
  std::vector<int64_t> level{begin};
  for (int32_t depth = 0; depth < n_levels; ++depth) {
    nodes_.push_back({predicate(ensemble, level[0]) * kWords, 0, 0, 0});
    std::vector<int64_t> next;
    for (int64_t node : level) {
      next.push_back(begin + ensemble.left[node]);
      next.push_back(begin + ensemble.left[node] + 1);
    }
    level = std::move(next);
  }
  for (int64_t leaf : level) {
    values_.push_back(ensemble.value[leaf] * ensemble.tree_weights[tree]);
  }
}

template <typename T>
void BitTrees::find_predicates(const MatrixView<T>& matrix, int32_t n_rows,
                               Scratch& scratch) const {
  const int32_t n_groups = (n_rows + 31) / 32;
  for (int32_t first = 0; first < columns_.size(); first += kTileColumns) {
    const int32_t last = std::min(first + kTileColumns, columns_.size());
    columns_.load_by_column(matrix, n_rows, first, last, scratch.tile);
    for (int32_t c = first; c < last; ++c) {
      float* values = scratch.tile + (c - first) * Columns::kTileRows;
      for (int32_t i = n_rows; i < 32 * n_groups; ++i) values[tile_position(i)] = values[0];
      kernels_.compare(values, n_groups, thresholds_.data() + threshold_offsets_[c],
                       threshold_offsets_[c + 1] - threshold_offsets_[c],
                       scratch.predicates.get() + threshold_offsets_[c]);
    }
  }
}

void BitTrees::find_leaves(const Tree& tree, int32_t n_rows, Scratch& scratch, uint8_t* low,
                           uint8_t* high) const {
  const int32_t n_groups = (n_rows + 31) / 32;
  const BitNode* nodes = nodes_.data() + tree.first_node;
  const RowBits* planes[kMostLevels] = {};
  if (tree.n_levels >= 0) {
    for (int32_t b = 0; b < tree.n_levels; ++b) {
      planes[b] = scratch.predicates.get() + nodes[tree.n_levels - 1 - b].predicate / kWords;
    }
    kernels_.number_rows(planes, std::min(tree.n_levels, 8), n_groups, low);
    if (tree.n_levels > 8) kernels_.number_rows(planes + 8, tree.n_levels - 8, n_groups, high);
    return;
  }
  kernels_.find_leaves(nodes, tree.n_leaves, scratch.predicates.get(), scratch.slots,
                       scratch.planes, n_rows <= kBitRows / 2);
  for (int32_t b = 0; b < 8; ++b) planes[b] = scratch.planes + b;
  kernels_.number_rows(planes, std::bit_width(static_cast<uint32_t>(tree.n_leaves - 1)), n_groups,
                       low);
}

template <typename T>
void BitTrees::add_scores(const MatrixView<T>& matrix, int32_t n_rows, double* scores,
                          int32_t stride) const {
  Scratch& scratch = Scratch::of_thread(thresholds_.size());
  find_predicates(matrix, n_rows, scratch);
  const double* values[kTogether];
  int32_t n_waiting = 0;
  double* sums = nullptr;
  const auto add_waiting = [&] {
    if (n_waiting == kTogether) {
      add_four(scratch.leaf, values, n_rows, sums);
    } else {
      for (int32_t k = 0; k < n_waiting; ++k) add_one(scratch.leaf[k], values[k], n_rows, sums);
    }
    n_waiting = 0;
  };
  for (const Tree& tree : trees_) {
    double* of_output = scores + static_cast<int64_t>(tree.output) * stride;
    if (n_waiting == kTogether || of_output != sums || tree.n_levels > 8) add_waiting();
    sums = of_output;
    find_leaves(tree, n_rows, scratch, scratch.leaf[n_waiting], scratch.leaf_high);
    values[n_waiting] = values_.data() + tree.first_value;
    if (tree.n_levels > 8) {
      for (int32_t i = 0; i < n_rows; ++i) {
        sums[i] += values[0][scratch.leaf[0][i] | scratch.leaf_high[i] << 8];
      }
    } else {
      ++n_waiting;
    }
  }
  add_waiting();
}

template void BitTrees::add_scores(const MatrixView<float>&, int32_t, double*, int32_t) const;
template void BitTrees::add_scores(const MatrixView<double>&, int32_t, double*, int32_t) const;

}  // namespace rankgrove
