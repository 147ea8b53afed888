#include "scoring/walker.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace rankgrove {

namespace {

constexpr int32_t kGroup = 16;  // rows that step in turn

float* tile_of_thread(size_t size) {
  thread_local std::vector<float> tile;
  if (tile.size() < size) tile.resize(size);
  return tile.data();
}

}  // namespace

Walker::Walker(const EnsembleArrays& ensemble, std::span<const int32_t> trees,
               const MissingPolicy& policy)
    : columns_(ensemble, trees, policy),
      column_bits_(std::bit_width(static_cast<uint32_t>(columns_.size()))) {
  std::vector<WideNode> nodes;
  uint32_t largest = 0;
  for (int32_t tree : trees) {
    add_tree(ensemble, tree, nodes);
    largest = std::max(largest, static_cast<uint32_t>(ensemble.tree_offsets[tree + 1] -
                                                      ensemble.tree_offsets[tree]));
  }
  if (std::bit_width(largest) + column_bits_ > 32) {
    wide_nodes_ = std::move(nodes);
    return;
  }
  compact_nodes_.reserve(nodes.size());
  for (const WideNode& node : nodes) {
    compact_nodes_.push_back({node.threshold, node.left << column_bits_ | node.column});
  }
}

void Walker::add_tree(const EnsembleArrays& ensemble, int32_t tree, std::vector<WideNode>& nodes) {
  const int64_t begin = ensemble.tree_offsets[tree];
  trees_.push_back({ensemble.tree_outputs[tree], static_cast<int64_t>(nodes.size())});
  std::vector<int64_t> source{begin};  // breadth first
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t node = source[i];
    if (ensemble.is_leaf(node)) {
      nodes.push_back({std::bit_cast<float>(static_cast<uint32_t>(values_.size())), 0, 0});
      values_.push_back(ensemble.value[node] * ensemble.tree_weights[tree]);
      continue;
    }
    const int32_t column = columns_.find(ensemble.feature[node], ensemble.missing_left[node]);
    nodes.push_back({ensemble.threshold[node], static_cast<uint32_t>(column),
                     static_cast<uint32_t>(source.size())});
    source.push_back(begin + ensemble.left[node]);
    source.push_back(begin + ensemble.left[node] + 1);
  }
  if (values_.size() > UINT32_MAX) throw std::length_error("more than 2^32 leaves");
}

template <typename Node>
void Walker::walk(const std::vector<Node>& all_nodes, const float* tile, int32_t width,
                  int32_t n_rows, double* scores, int32_t stride) const {
  for (const Tree& tree : trees_) {
    const Node* nodes = all_nodes.data() + tree.first_node;
    double* out = scores + static_cast<int64_t>(tree.output) * stride;
    for (int32_t start = 0; start < n_rows; start += kGroup) {
      const int32_t size = std::min(kGroup, n_rows - start);
      const float* rows = tile + static_cast<int64_t>(start) * width;
      uint32_t at[kGroup] = {};
      for (bool moving = true; moving;) {
        moving = false;
        for (int32_t i = 0; i < size; ++i) {
          const WideNode node = unpack(nodes[at[i]], column_bits_);
          const uint32_t next = node.left + !(rows[i * width + node.column] <= node.threshold);
          at[i] = node.left == 0 ? at[i] : next;
          moving |= node.left != 0;
        }
      }
      for (int32_t i = 0; i < size; ++i) {
        out[start + i] += values_[std::bit_cast<uint32_t>(nodes[at[i]].threshold)];
      }
    }
  }
}

template <typename T>
void Walker::add_scores(const MatrixView<T>& matrix, int32_t n_rows, double* scores,
                        int32_t stride) const {
  const int32_t width = std::max(columns_.size(), 1);
  float* tile = tile_of_thread(static_cast<size_t>(width) * n_rows);
  columns_.load_by_row(matrix, n_rows, tile, width);
  if (wide_nodes_.empty()) {
    walk(compact_nodes_, tile, width, n_rows, scores, stride);
  } else {
    walk(wide_nodes_, tile, width, n_rows, scores, stride);
  }
}

template void Walker::add_scores(const MatrixView<float>&, int32_t, double*, int32_t) const;
template void Walker::add_scores(const MatrixView<double>&, int32_t, double*, int32_t) const;

}  // namespace rankgrove
