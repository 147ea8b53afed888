#include "scoring/bit_trees.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

namespace rankgrove {

namespace {

constexpr int32_t kWords = sizeof(RowBits) / sizeof(uint64_t);
constexpr int32_t kTileColumns = 16;
constexpr int32_t kTogether = 4;  // trees of a group
constexpr int32_t kMostSlots = 2 * kMostBitLeaves;
constexpr int32_t kAllRows = kMostSlots;  // a slot that holds all rows

// Whether two splits of a feature part values in the same way.
template <typename V>
bool same_condition(const EnsembleArrays& ensemble, int64_t one, int64_t other) {
  if (ensemble.has_set(one)) return std::ranges::equal(ensemble.set(one), ensemble.set(other));
  return ensemble.threshold_in<V>(one) == ensemble.threshold_in<V>(other);
}

// The levels of a tree if all nodes of a level ask the same and all leaves are equally deep, else
// -1.
template <typename V>
int32_t oblivious_levels(const EnsembleArrays& ensemble, int32_t tree) {
  const int64_t begin = ensemble.tree_offsets[tree];
  const int64_t n_leaves = (ensemble.tree_offsets[tree + 1] - begin + 1) / 2;
  if (!std::has_single_bit(static_cast<uint64_t>(n_leaves))) return -1;
  const int32_t n_levels = std::countr_zero(static_cast<uint64_t>(n_leaves));
  if (n_levels > kMostBitLevels) return -1;
  std::vector<int64_t> level{begin};
  std::vector<int64_t> next;
  for (int32_t depth = 0; depth < n_levels; ++depth) {
    next.clear();
    for (int64_t node : level) {
      if (ensemble.is_leaf(node) || ensemble.feature[node] != ensemble.feature[level[0]] ||
          !same_condition<V>(ensemble, node, level[0]) ||
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

// Slots that a tree takes: its leaves, filled up to a multiple of 8, and its splits but the root.
int32_t n_slots(int32_t n_leaves) { return (n_leaves + 7) / 8 * 8 + std::max(0, n_leaves - 2); }

}  // namespace

// What one thread needs to score a block; allocated once per thread and never shrunk.
template <typename V>
struct BitTrees<V>::Scratch {
  alignas(64) V tile[kTileColumns * Columns::kTileRows];
  RowBits slots[kMostSlots + 1];
  RowBits planes[9];
  alignas(32) uint8_t leaf[kTogether][kBitRows];
  alignas(32) uint8_t leaf_high[kBitRows];  // of an oblivious tree with more than 8 levels
  std::unique_ptr<RowBits[]> predicate_bits;
  size_t n_predicates = 0;

  Scratch() { std::ranges::fill(slots[kAllRows].words, ~uint64_t{0}); }

  uint64_t* predicates() { return predicate_bits[0].words; }

  static Scratch& of_thread(size_t n_predicates) {
    thread_local std::unique_ptr<Scratch> scratch = std::make_unique<Scratch>();
    if (scratch->n_predicates < n_predicates) {
      scratch->n_predicates = 0;  // true also where there is no memory for more
      scratch->predicate_bits.reset();
      scratch->predicate_bits.reset(new RowBits[n_predicates]);
      scratch->n_predicates = n_predicates;
    }
    return *scratch;
  }
};

template <typename V>
bool BitTrees<V>::accepts(const EnsembleArrays& ensemble, int32_t tree) {
  const int64_t n_nodes = ensemble.tree_offsets[tree + 1] - ensemble.tree_offsets[tree];
  return n_nodes < 2 * kMostBitLeaves || oblivious_levels<V>(ensemble, tree) >= 0;
}

template <typename V>
BitTrees<V>::BitTrees(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
                      const MissingPolicy& policy, int32_t vector_bits)
    : kernels_(bit_kernels(vector_bits)), columns_(ensemble, trees, policy) {
  std::vector<std::vector<V>> thresholds(columns_.size());
  for (int32_t tree : trees) {
    for (int64_t i = ensemble.tree_offsets[tree]; i < ensemble.tree_offsets[tree + 1]; ++i) {
      if (ensemble.is_leaf(i) || ensemble.has_set(i)) continue;
      const int32_t column = columns_.find(ensemble.feature[i], ensemble.missing_left[i]);
      thresholds[column].push_back(ensemble.threshold_in<V>(i));
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
  if (!ensemble.set_of_node.empty()) add_set_tests(ensemble, trees);
  std::vector<int32_t> by_output(trees.begin(), trees.end());
  std::ranges::stable_sort(by_output, {}, [&](int32_t t) { return ensemble.tree_outputs[t]; });
  for (std::span<const int32_t> rest = by_output; !rest.empty();) {
    const int32_t size = size_of_group(ensemble, rest);
    add_group(ensemble, rest.first(size));
    rest = rest.subspan(size);
  }
  values_.resize(values_.size() + kValuesAfter);
}

template <typename V>
void BitTrees<V>::add_set_tests(const EnsembleArrays& ensemble, std::span<const int32_t> trees) {
  std::set<std::pair<int32_t, std::vector<uint32_t>>> tests;
  for (int32_t tree : trees) {
    for (int64_t i = ensemble.tree_offsets[tree]; i < ensemble.tree_offsets[tree + 1]; ++i) {
      if (!ensemble.has_set(i)) continue;
      const auto set = ensemble.set(i);
      tests.emplace(columns_.find(ensemble.feature[i], ensemble.missing_left[i]),
                    std::vector<uint32_t>(set.begin(), set.end()));
    }
  }
  for (const auto& [column, set] : tests) {
    set_tests_.push_back(
        {column, static_cast<int32_t>(set.size()), static_cast<int64_t>(set_words_.size())});
    set_words_.insert(set_words_.end(), set.begin(), set.end());
    set_words_.push_back(0);
  }
}

template <typename V>
int32_t BitTrees<V>::size_of_group(const EnsembleArrays& ensemble,
                                   std::span<const int32_t> trees) const {
  int32_t slots = 0;
  for (int32_t k = 0; k < std::min<int32_t>(kTogether, trees.size()); ++k) {
    const int32_t tree = trees[k];
    const int32_t n_levels = oblivious_levels<V>(ensemble, tree);
    if (n_levels > 8) return std::max(k, 1);  // on its own
    const auto n_leaves = static_cast<int32_t>(
        (ensemble.tree_offsets[tree + 1] - ensemble.tree_offsets[tree] + 1) / 2);
    if (n_levels < 0) slots += n_slots(n_leaves);
    if (k > 0 &&
        (slots > kMostSlots || ensemble.tree_outputs[tree] != ensemble.tree_outputs[trees[0]])) {
      return k;
    }
  }
  return std::min<int32_t>(kTogether, trees.size());
}

template <typename V>
void BitTrees<V>::add_group(const EnsembleArrays& ensemble, std::span<const int32_t> trees) {
  Group group{ensemble.tree_outputs[trees[0]],
              static_cast<int32_t>(trees_.size()),
              static_cast<int32_t>(trees_.size() + trees.size()),
              static_cast<int64_t>(nodes_.size()),
              0,
              0};
  std::vector<std::vector<BitNode>> levels;
  int32_t next_slot = 0;
  for (int32_t tree : trees) {
    const int64_t begin = ensemble.tree_offsets[tree];
    const auto n_leaves = static_cast<int32_t>((ensemble.tree_offsets[tree + 1] - begin + 1) / 2);
    const int32_t n_levels = oblivious_levels<V>(ensemble, tree);
    group.most_leaves = std::max(group.most_leaves, n_leaves);
    trees_.push_back({n_leaves, n_levels, next_slot, static_cast<int64_t>(rules_.size()),
                      static_cast<int64_t>(values_.size())});
    int32_t next_leaf = next_slot;
    int32_t next_split = next_slot + (n_leaves + 7) / 8 * 8;
    if (n_levels < 0) next_slot += n_slots(n_leaves);
    struct Place {
      int64_t node;
      int32_t slot;
    };
    std::vector<Place> level{{begin, kAllRows}};
    for (size_t depth = 0; !level.empty(); ++depth) {
      if (depth == levels.size()) levels.emplace_back();
      std::vector<Place> next;
      for (const Place& place : level) {
        if (ensemble.is_leaf(place.node)) {
          values_.push_back(ensemble.value[place.node] * ensemble.tree_weights[tree]);
          continue;
        }
        uint16_t slots[2];
        for (int64_t side : {0, 1}) {
          const int64_t child = begin + ensemble.left[place.node] + side;
          const int32_t slot = n_levels >= 0             ? 0
                               : ensemble.is_leaf(child) ? next_leaf++
                                                         : next_split++;
          next.push_back({child, slot});
          slots[side] = static_cast<uint16_t>(slot * kWords);
        }
        if (n_levels < 0) {
          levels[depth].push_back({predicate(ensemble, place.node) * 2,
                                   static_cast<uint16_t>(place.slot * kWords), slots[0], slots[1]});
        } else if (&place == level.data()) {
          rules_.push_back(predicate(ensemble, place.node));
        }
      }
      level = std::move(next);
    }
  }
  for (const auto& level : levels) nodes_.insert(nodes_.end(), level.begin(), level.end());
  group.last_node = static_cast<int64_t>(nodes_.size());
  groups_.push_back(group);
}

template <typename V>
uint32_t BitTrees<V>::predicate(const EnsembleArrays& ensemble, int64_t node) const {
  const int32_t column = columns_.find(ensemble.feature[node], ensemble.missing_left[node]);
  if (ensemble.has_set(node)) {
    const auto set = ensemble.set(node);
    const auto found =
        std::partition_point(set_tests_.begin(), set_tests_.end(), [&](const SetTest& test) {
          if (test.column != column) return test.column < column;
          return std::ranges::lexicographical_compare(words(test), set);
        });
    return static_cast<uint32_t>(thresholds_.size() + (found - set_tests_.begin()));
  }
  const auto begin = thresholds_.begin() + threshold_offsets_[column];
  const auto end = thresholds_.begin() + threshold_offsets_[column + 1];
  return static_cast<uint32_t>(std::lower_bound(begin, end, ensemble.threshold_in<V>(node)) -
                               thresholds_.begin());
}

template <typename V>
template <typename T>
void BitTrees<V>::find_predicates(const StridedRows<T>& matrix, int32_t n_rows,
                                  Scratch& scratch) const {
  const bool half = n_rows <= kBitRows / 2;
  for (int32_t first = 0; first < columns_.size(); first += kTileColumns) {
    const int32_t last = std::min(first + kTileColumns, columns_.size());
    columns_.load_by_column(matrix, n_rows, first, last, scratch.tile);
    for (int32_t c = first; c < last; ++c) {
      const V* values = scratch.tile + (c - first) * Columns::kTileRows;
      const int64_t begin = threshold_offsets_[c];
      kernels_.compare(values, tile_rows(n_rows), thresholds_.data() + begin,
                       static_cast<int32_t>(threshold_offsets_[c + 1] - begin),
                       scratch.predicates() + begin * words_per_predicate(half), half);
      if (!set_tests_.empty()) {
        const int64_t stride = words_per_predicate(half);
        const auto first_set = static_cast<int64_t>(thresholds_.size()) * stride;
        test_sets(values, tile_rows(n_rows), c, scratch.predicates() + first_set, stride);
      }
    }
  }
}

// The predicates of a column's sets: a bit is 1 where a row's category is not in the set.
template <typename V>
void BitTrees<V>::test_sets(const V* values, int32_t n_rows, int32_t column, uint64_t* predicates,
                            int64_t stride) const {
  auto test = std::ranges::lower_bound(set_tests_, column, {}, &SetTest::column);
  if (test == set_tests_.end() || test->column != column) return;
  uint32_t codes[kBitRows];
  uint64_t goes_left[kWords] = {};  // rows whose value is missing, if those go left
  for (int32_t i = 0; i < n_rows; ++i) {
    const V value = values[tile_position<V>(i)];
    codes[i] = category_code(value);
    goes_left[i / 64] |= uint64_t{value < 0} << i % 64;
  }
  for (; test != set_tests_.end() && test->column == column; ++test) {
    const uint32_t* set = set_words_.data() + test->first_word;
    const auto n_words = static_cast<uint32_t>(test->n_words);
    uint64_t* out = predicates + (test - set_tests_.begin()) * stride;
    for (int32_t first = 0; first < n_rows; first += 64) {
      uint64_t in_set = 0;
      for (int32_t i = 0; i < std::min(64, n_rows - first); ++i) {
        const uint32_t code = codes[first + i];
        in_set |= uint64_t{set[std::min(code / 32, n_words)] >> code % 32 & 1} << i;
      }
      out[first / 64] = ~(in_set | goes_left[first / 64]);
    }
  }
}

template <typename V>
void BitTrees<V>::find_leaves(const Group& group, int32_t n_rows, Scratch& scratch) const {
  const int32_t n_groups = (n_rows + 31) / 32;
  const bool half = n_rows <= kBitRows / 2;
  const uint64_t* predicates = scratch.predicates();
  kernels_.split_rows(nodes_.data() + group.first_node, group.last_node - group.first_node,
                      predicates, scratch.slots, half);
  for (int32_t t = group.first_tree; t < group.last_tree; ++t) {
    const Tree& tree = trees_[t];
    uint8_t* leaf = scratch.leaf[t - group.first_tree];
    const uint64_t* planes[kMostBitLevels];
    if (tree.n_levels >= 0) {
      for (int32_t b = 0; b < tree.n_levels; ++b) {
        const uint32_t rule = rules_[tree.first_rule + tree.n_levels - 1 - b];
        planes[b] = predicates + static_cast<int64_t>(rule) * words_per_predicate(half);
      }
      kernels_.number_rows(planes, std::min(tree.n_levels, 8), n_groups, leaf);
      if (tree.n_levels > 8) {
        kernels_.number_rows(planes + 8, tree.n_levels - 8, n_groups, scratch.leaf_high);
      }
    } else {
      kernels_.number_sets(scratch.slots + tree.first_slot, tree.n_leaves, scratch.planes, half);
      for (int32_t b = 0; b < 8; ++b) planes[b] = scratch.planes[b].words;
      kernels_.number_rows(planes, std::bit_width(static_cast<uint32_t>(tree.n_leaves - 1)),
                           n_groups, leaf);
    }
  }
}

template <typename V>
template <typename T>
void BitTrees<V>::add_scores(const StridedRows<T>& matrix, int32_t n_rows, double* scores,
                             int32_t stride) const {
  Scratch& scratch = Scratch::of_thread(thresholds_.size() + set_tests_.size() + 1);
  find_predicates(matrix, n_rows, scratch);
  for (const Group& group : groups_) {
    find_leaves(group, n_rows, scratch);
    double* sums = scores + static_cast<int64_t>(group.output) * stride;
    const int32_t n_trees = group.last_tree - group.first_tree;
    const double* values[kTogether];
    for (int32_t k = 0; k < n_trees; ++k) {
      values[k] = values_.data() + trees_[group.first_tree + k].first_value;
    }
    if (n_trees == kTogether) {
      kernels_.add_four(scratch.leaf, values, group.most_leaves, n_rows, sums);
    } else if (trees_[group.first_tree].n_levels > 8) {
      for (int32_t i = 0; i < n_rows; ++i) {
        sums[i] += values[0][scratch.leaf[0][i] | scratch.leaf_high[i] << 8];
      }
    } else {
      for (int32_t k = 0; k < n_trees; ++k) {
        for (int32_t i = 0; i < n_rows; ++i) sums[i] += values[k][scratch.leaf[k][i]];
      }
    }
  }
}

template class BitTrees<float>;
template class BitTrees<double>;
template void BitTrees<float>::add_scores(const StridedRows<float>&, int32_t, double*,
                                          int32_t) const;
template void BitTrees<float>::add_scores(const StridedRows<double>&, int32_t, double*,
                                          int32_t) const;
template void BitTrees<double>::add_scores(const StridedRows<float>&, int32_t, double*,
                                           int32_t) const;
template void BitTrees<double>::add_scores(const StridedRows<double>&, int32_t, double*,
                                           int32_t) const;

}  // namespace rankgrove
