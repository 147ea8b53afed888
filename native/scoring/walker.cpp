#include "scoring/walker.hpp"

#include <algorithm>
#include <limits>

namespace rankgrove {

namespace {

constexpr int32_t kGroup = 16;  // rows that step together, to hide the latency of each other

std::vector<float>& tile_of_thread(size_t size) {
  thread_local std::vector<float> tile;
  if (tile.size() < size) tile.resize(size);
  return tile;
}

}  // namespace

Walker::Walker(const EnsembleArrays& ensemble, const std::vector<int32_t>& trees,
               const MissingPolicy& missing)
    : columns_(missing) {
  for (int32_t tree : trees) add_tree(ensemble, tree);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].column < 0) nodes_[i].column = columns_.size();
  }
}

void Walker::add_tree(const EnsembleArrays& ensemble, int32_t tree) {
  const int64_t begin = ensemble.tree_offsets[tree];
  const double weight = ensemble.tree_weights[tree];
  std::vector<int64_t> source{begin};  // breadth first
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t node = source[i];
    const int32_t number = static_cast<int32_t>(i);
    if (ensemble.is_leaf(node)) {
      nodes_.push_back({std::numeric_limits<float>::infinity(), number, -1});
      values_.push_back(ensemble.value[node] * weight);
    } else {
      const int32_t left = static_cast<int32_t>(source.size());
      nodes_.push_back({ensemble.threshold[node], left,
                        columns_.find_or_add(ensemble.feature[node], ensemble.missing_left[node])});
      values_.push_back(0.0);
      source.push_back(begin + ensemble.left[node]);
      source.push_back(begin + ensemble.left[node] + 1);
    }
  }
  offsets_.push_back(static_cast<int64_t>(nodes_.size()));
  outputs_.push_back(ensemble.tree_outputs[tree]);
}

template <typename T>
void Walker::add_scores(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows,
                        double* scores, int32_t stride) const {
  const int32_t width = columns_.size() + 1;  // the last column is 0, for leaves to compare
  float* tile = tile_of_thread(static_cast<size_t>(width) * n_rows).data();
  columns_.load_by_row(matrix, first_row, n_rows, tile, width);
  for (int32_t i = 0; i < n_rows; ++i) tile[static_cast<int64_t>(i + 1) * width - 1] = 0.0f;
  for (size_t t = 0; t < outputs_.size(); ++t) {
    const Node* nodes = nodes_.data() + offsets_[t];
    const double* values = values_.data() + offsets_[t];
    double* out = scores + static_cast<int64_t>(outputs_[t]) * stride;
    for (int32_t start = 0; start < n_rows; start += kGroup) {
      const int32_t size = std::min(kGroup, n_rows - start);
      const float* rows = tile + static_cast<int64_t>(start) * width;
      int32_t at[kGroup] = {};
      for (bool moving = true; moving;) {
        moving = false;
        for (int32_t i = 0; i < size; ++i) {
          const Node node = nodes[at[i]];
          const int32_t next = node.left + !(rows[i * width + node.column] <= node.threshold);
          moving |= next != at[i];
          at[i] = next;
        }
      }
      for (int32_t i = 0; i < size; ++i) out[start + i] += values[at[i]];
    }
  }
}

template void Walker::add_scores(const MatrixView<float>&, int64_t, int32_t, double*,
                                 int32_t) const;
template void Walker::add_scores(const MatrixView<double>&, int64_t, int32_t, double*,
                                 int32_t) const;

}  // namespace rankgrove
