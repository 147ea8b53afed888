#include "scoring/walker.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

namespace rankgrove {

namespace {

constexpr int32_t kGroup = Columns::kLanes;  // rows that step in turn
constexpr uint32_t kLine = 8;                // compact nodes in a cache line
constexpr int32_t kLineKeys = 16;
constexpr int32_t kLinesAhead = 6;  // of the next rows' keys, to prefetch at every sure step

// Every entry is a key at any time, so that leaves hold on to rows whatever the tile held before.
uint32_t* tile_of_thread(size_t size) {
  thread_local std::vector<uint32_t> tile;
  if (tile.size() < size) tile.resize(size, kFirstKey);
  return tile.data();
}

// Brings memory into the cache slice by slice, while something else is worked on; does nothing if
// few rows would make use of it.
class Fetcher {
 public:
  template <typename T>
  Fetcher(const T* begin, const T* end, int32_t n_slices)
      : at_(reinterpret_cast<const char*>(begin)), end_(reinterpret_cast<const char*>(end)) {
    slice_ = (end_ - at_) / n_slices + kLineBytes;
    if (slice_ > kMostLines * kGroup * kLineBytes) end_ = at_;
  }
  void fetch_slice() {
    const char* stop = at_ + std::min(slice_, end_ - at_);
    for (; at_ < stop; at_ += kLineBytes) __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr int64_t kLineBytes = 64;
  static constexpr int64_t kMostLines = 24;  // per row
  const char* at_;
  const char* end_;
  int64_t slice_;
};

// The leaves of one tree: equal values have one number.
struct LeafValues {
  std::vector<double> values;    // by number
  std::vector<uint32_t> number;  // of each node that is a leaf

  LeafValues(const EnsembleArrays& ensemble, int32_t tree) {
    const int64_t begin = ensemble.tree_offsets[tree];
    const int64_t n_nodes = ensemble.tree_offsets[tree + 1] - begin;
    std::unordered_map<uint64_t, uint32_t> numbers;  // by the bits of the value
    number.resize(n_nodes);
    for (int64_t i = 0; i < n_nodes; ++i) {
      if (!ensemble.is_leaf(begin + i)) continue;
      const double value = ensemble.value[begin + i] * ensemble.tree_weights[tree];
      const auto next = static_cast<uint32_t>(values.size());
      const auto [known, is_new] = numbers.try_emplace(std::bit_cast<uint64_t>(value), next);
      if (is_new) values.push_back(value);
      number[i] = known->second;
    }
    if (values.size() > kFirstKey) throw std::length_error("a tree has over 2^23 leaf values");
  }
};

// Gives each node of a tree its place, from 1. A cache line takes up to four pairs of siblings that
// are near in the tree, bigger subtrees first, so that a path touches few lines. Pairs of leaves
// with the same values share one place: forests grown to the end on graded labels have many.
class NodePlaces {
 public:
  NodePlaces(const int32_t* left, const LeafValues& leaves)
      : left_(left), leaves_(leaves), place_(leaves.number.size()) {
    std::vector<int32_t> subtree(place_.size(), 1);
    for (auto i = static_cast<int32_t>(place_.size()) - 1; i >= 0; --i) {
      if (left[i] >= 0) subtree[i] += subtree[left[i]] + subtree[left[i] + 1];
    }
    place_[0] = 1;
    uint32_t next_line = 0;
    std::vector<int32_t> small;   // parents of pairs that do not fill a line
    std::vector<int32_t> starts;  // parents of the first pair of a line
    if (left[0] >= 0) starts.push_back(0);
    for (size_t s = 0; s < starts.size(); ++s) {
      if (share(starts[s])) continue;
      const size_t capacity = s == 0 ? kLine / 2 - 1 : kLine / 2;  // the root is in the first line
      std::vector<int32_t> near{starts[s]};
      std::vector<int32_t> chosen;
      while (!near.empty() && chosen.size() < capacity) {
        const auto largest =
            std::ranges::max_element(near, {}, [&](int32_t i) { return subtree[i]; });
        const int32_t parent = *largest;
        near.erase(largest);
        chosen.push_back(parent);
        for (int32_t child : {left[parent], left[parent] + 1}) {
          if (left[child] >= 0 && !share(child)) near.push_back(child);
        }
      }
      starts.insert(starts.end(), near.begin(), near.end());
      if (s > 0 && chosen.size() < capacity) {
        small.insert(small.end(), chosen.begin(), chosen.end());
        continue;
      }
      uint32_t at = s == 0 ? 2 : next_line * kLine;
      for (int32_t parent : chosen) put(parent, at);
      ++next_line;
    }
    uint32_t at = std::max<uint32_t>(next_line, 1) * kLine;
    for (int32_t parent : small) {
      if (!share(parent)) put(parent, at);
    }
  }

  const std::vector<uint32_t>& places() const { return place_; }

 private:
  // The values of a pair of leaves, or nothing if a child is a split.
  std::optional<uint64_t> leaf_pair(int32_t parent) const {
    const int32_t child = left_[parent];
    if (left_[child] >= 0 || left_[child + 1] >= 0) return std::nullopt;
    return uint64_t{leaves_.number[child]} << 32 | leaves_.number[child + 1];
  }

  void set(int32_t parent, uint32_t at) {
    place_[left_[parent]] = at;
    place_[left_[parent] + 1] = at + 1;
  }

  void put(int32_t parent, uint32_t& at) {
    set(parent, at);
    if (const auto pair = leaf_pair(parent)) shared_.try_emplace(*pair, at);
    at += 2;
  }

  // Puts a pair of leaves where an equal one is, if there is one.
  bool share(int32_t parent) {
    const auto pair = leaf_pair(parent);
    if (!pair) return false;
    const auto known = shared_.find(*pair);
    if (known == shared_.end()) return false;
    set(parent, known->second);
    return true;
  }

  const int32_t* left_;
  const LeafValues& leaves_;
  std::vector<uint32_t> place_;
  std::unordered_map<uint64_t, uint32_t> shared_;
};

}  // namespace

Walker::Walker(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
               const MissingPolicy& policy)
    : columns_(ensemble, trees, policy),
      position_bits_(std::bit_width(static_cast<uint32_t>(columns_.twin_position()) * kGroup)) {
  std::vector<SetNode> nodes;
  uint32_t largest = 0;
  for (int32_t tree : trees) {
    add_tree(ensemble, tree, nodes);
    largest = std::max(largest, static_cast<uint32_t>(nodes.size() - trees_.back().first_node));
  }
  trees_.push_back(
      {0, 0, static_cast<int64_t>(nodes.size()), static_cast<int64_t>(values_.size())});
  if (std::ranges::any_of(nodes, [](const SetNode& node) { return node.n_words != kNoSet; })) {
    set_nodes_ = std::move(nodes);
  } else if (std::bit_width(largest) + position_bits_ > 32) {
    wide_nodes_.reserve(nodes.size());
    for (const SetNode& node : nodes) {
      wide_nodes_.push_back({node.threshold, node.position, node.left});
    }
  } else {
    compact_nodes_.reserve(nodes.size());
    for (const SetNode& node : nodes) {
      compact_nodes_.push_back({node.threshold, node.left << position_bits_ | node.position});
    }
  }
}

// Copies the words of a node's set and returns where they begin.
uint32_t Walker::add_set(const EnsembleArrays& ensemble, int64_t node) {
  const auto set = ensemble.set(node);
  if (set_words_.size() + set.size() > kLastKey) {
    throw std::length_error("the sets of categories have over 2^32 words");
  }
  const auto first = static_cast<uint32_t>(set_words_.size());
  set_words_.insert(set_words_.end(), set.begin(), set.end());
  return first;
}

void Walker::add_tree(const EnsembleArrays& ensemble, int32_t tree, std::vector<SetNode>& nodes) {
  const int64_t begin = ensemble.tree_offsets[tree];
  const LeafValues leaves(ensemble, tree);
  const NodePlaces node_places(ensemble.left.data() + begin, leaves);
  const std::vector<uint32_t>& place = node_places.places();
  const auto first_node = static_cast<int64_t>(nodes.size());
  // A balanced tree is that deep, and rows of a group hardly all arrive earlier in another.
  const auto n_leaves = static_cast<uint32_t>((place.size() + 1) / 2);
  trees_.push_back({ensemble.tree_outputs[tree], static_cast<int32_t>(std::bit_width(n_leaves - 1)),
                    first_node, static_cast<int64_t>(values_.size())});
  values_.insert(values_.end(), leaves.values.begin(), leaves.values.end());
  const uint32_t last = *std::ranges::max_element(place);
  nodes.resize(first_node + (last / kLine + 1) * kLine, SetNode{0, 0, 0, kNoSet});
  for (size_t i = 0; i < place.size(); ++i) {
    const int64_t node = begin + static_cast<int64_t>(i);
    if (ensemble.is_leaf(node)) {
      nodes[first_node + place[i]] = {leaves.number[i], 0, place[i] - 1, kNoSet};
    } else {
      const int32_t position =
          columns_.row_position(ensemble.feature[node], ensemble.missing_left[node]);
      const bool has_set = ensemble.has_set(node);
      nodes[first_node + place[i]] = {
          has_set ? add_set(ensemble, node) : columns_.threshold_key(ensemble, node),
          static_cast<uint32_t>(position) * kGroup, place[ensemble.left[node]],
          has_set ? static_cast<uint32_t>(ensemble.set(node).size()) : kNoSet};
    }
  }
}

template <typename Node>
void Walker::walk_group(const Node* nodes, int32_t n_sure_steps, const uint32_t* keys,
                        const uint32_t* next_keys, uint32_t mask, uint32_t* at) const {
  const int32_t position_bits = position_bits_;
  const auto next = [=, this](int32_t lane) {
    if constexpr (std::is_same_v<Node, SetNode>) {
      const SetNode& node = nodes[at[lane]];
      return node.left + goes_right(node, (keys + lane)[node.position & mask]);
    } else {
      WideNode node = unpack(nodes[at[lane]], position_bits, mask);
      __asm__(""
              : "+r"(node.left));  // known before the comparison, so the sum is an add with carry
      return node.left + (node.threshold < (keys + lane)[node.position]);
    }
  };
  for (int32_t step = 0; step < n_sure_steps; ++step) {
    for (int32_t line = 0; line < kLinesAhead; ++line, next_keys += kLineKeys) {
      __builtin_prefetch(next_keys, 0, 3);
    }
    for (int32_t lane = 0; lane < kGroup; ++lane) at[lane] = next(lane);
  }
  for (uint32_t moved = 1; moved != 0;) {
    for (int32_t lane = 0; lane < kGroup; ++lane) at[lane] = next(lane);
    moved = 0;
    for (int32_t lane = 0; lane < kGroup; ++lane) {
      const uint32_t before = at[lane];
      at[lane] = next(lane);
      moved |= at[lane] ^ before;
    }
  }
}

template <typename Node>
void Walker::walk(const std::vector<Node>& all_nodes, const Tile& tile, int32_t n_rows,
                  double* scores, int32_t stride) const {
  const int32_t n_groups = (n_rows + kGroup - 1) / kGroup;
  const int64_t group_keys = static_cast<int64_t>(kGroup) * tile.width;
  for (size_t t = 0; t + 1 < trees_.size(); ++t) {
    const Tree& tree = trees_[t];
    const Tree& next = trees_[t + 1];
    const Tree& after = trees_[std::min(t + 2, trees_.size() - 1)];
    const Node* nodes = all_nodes.data() + tree.first_node;
    Fetcher next_nodes(all_nodes.data() + next.first_node, all_nodes.data() + after.first_node,
                       n_groups);
    Fetcher next_values(values_.data() + next.first_value, values_.data() + after.first_value,
                        n_groups);
    double* out = scores + static_cast<int64_t>(tree.output) * stride;
    const double* values = values_.data() + tree.first_value;
    for (int32_t group = 0; group < n_groups; ++group) {
      next_nodes.fetch_slice();
      next_values.fetch_slice();
      const int32_t next_group = group + 1 < n_groups ? group + 1 : 0;  // of the next tree
      uint32_t at[kGroup];
      std::fill_n(at, kGroup, 1);
      walk_group(nodes, tree.n_sure_steps, tile.keys + group * group_keys,
                 tile.keys + next_group * group_keys, tile.mask, at);
      const int32_t start = group * kGroup;
      for (int32_t i = start; i < std::min(start + kGroup, n_rows); ++i) {
        out[i] += values[nodes[at[i - start]].threshold];
      }
    }
  }
}

template <typename T>
void Walker::add_scores(const StridedRows<T>& matrix, int32_t n_rows, double* scores,
                        int32_t stride) const {
  const size_t n_lanes = static_cast<size_t>((n_rows + kGroup - 1) / kGroup) * kGroup;
  int32_t width = std::max(columns_.n_features(), 1);
  auto mask = static_cast<uint32_t>(columns_.twin_position()) * kGroup - 1;
  uint32_t* keys = tile_of_thread(width * n_lanes);
  if (columns_.load_keys(matrix, n_rows, false, keys, width)) {
    width += columns_.twin_position();
    mask = 2 * mask + 1;
    keys = tile_of_thread(width * n_lanes);
    columns_.load_keys(matrix, n_rows, true, keys, width);
  }
  if (!set_nodes_.empty()) {
    walk(set_nodes_, {keys, width, mask}, n_rows, scores, stride);
  } else if (wide_nodes_.empty()) {
    walk(compact_nodes_, {keys, width, mask}, n_rows, scores, stride);
  } else {
    walk(wide_nodes_, {keys, width, mask}, n_rows, scores, stride);
  }
}

template void Walker::add_scores(const StridedRows<float>&, int32_t, double*, int32_t) const;
template void Walker::add_scores(const StridedRows<double>&, int32_t, double*, int32_t) const;

}  // namespace rankgrove
