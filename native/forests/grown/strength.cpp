#include "forests/grown/strength.hpp"

#include <algorithm>
#include <numeric>

#include "forests/listwise/leaf_table.hpp"

namespace rankgrove::forests {
namespace {

// The tree as it grows again: which rows each leaf holds, and the blocks of each query.
class Regrowth {
 public:
  Regrowth(const EnsembleArrays& trees, int64_t tree, const int32_t* leaves,
           const std::vector<int64_t>& offsets, const std::vector<int32_t>& query_of_row,
           const ListwiseMetric& metric)
      : left_(&trees.left[trees.tree_offsets[tree]]),
        value_(&trees.value[trees.tree_offsets[tree]]),
        n_nodes_(static_cast<int32_t>(trees.tree_offsets[tree + 1] - trees.tree_offsets[tree])),
        query_of_row_(query_of_row),
        metric_(metric),
        table_(offsets, metric),
        rows_(query_of_row.size()),
        place_of_row_(query_of_row.size()),
        place_(n_nodes_),
        end_(n_nodes_),
        begin_row_(n_nodes_),
        end_row_(n_nodes_) {
    std::iota(rows_.begin(), rows_.end(), 0);
    number_leaves();
    for (size_t row = 0; row < rows_.size(); ++row) {
      place_of_row_[row] = place_[leaves[row * trees.n_trees() + tree]];
    }
    begin_row_[0] = 0;
    end_row_[0] = static_cast<int64_t>(rows_.size());
    for (int64_t i = 0; i < end_row_[0];) {
      const int32_t query = query_of_row_[i];
      table_.start_query(query, value_[0], subset_of(query, i, end_row_[0]));
      total_ += table_.value(query);
    }
  }

  std::vector<double> curve() {
    const double weight = std::accumulate(metric_.weight.begin(), metric_.weight.end(), 0.0);
    std::vector<int32_t> inner;
    for (int32_t node = 0; node < n_nodes_; ++node) {
      if (left_[node] >= 0) inner.push_back(node);
    }
    // Children are numbered when their parent is split.
    std::sort(inner.begin(), inner.end(),
              [&](int32_t a, int32_t b) { return left_[a] < left_[b]; });
    std::vector<double> result{total_ / weight};
    for (const int32_t node : inner) {
      split(node);
      result.push_back(total_ / weight);
    }
    return result;
  }

 private:
  // Numbers the leaves from left to right: the leaves below a node are place_[node] .. end_[node]
  // - 1.
  void number_leaves() {
    int32_t next = 0;
    std::vector<int32_t> open{0};
    std::vector<int32_t> order;
    while (!open.empty()) {
      const int32_t node = open.back();
      open.pop_back();
      order.push_back(node);
      place_[node] = next;
      if (left_[node] < 0) {
        end_[node] = ++next;
      } else {
        open.push_back(left_[node] + 1);
        open.push_back(left_[node]);
      }
    }
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (left_[*node] >= 0) end_[*node] = end_[left_[*node] + 1];
    }
  }

  void split(int32_t node) {
    const int32_t left = left_[node];
    const int32_t right = left + 1;
    const auto first = rows_.begin() + begin_row_[node];
    const auto last = rows_.begin() + end_row_[node];
    const auto middle = std::stable_partition(
        first, last, [&](int32_t row) { return place_of_row_[row] < end_[left]; });
    begin_row_[left] = begin_row_[node];
    end_row_[left] = begin_row_[right] = middle - rows_.begin();
    end_row_[right] = end_row_[node];
    int64_t i = begin_row_[left];
    int64_t j = begin_row_[right];
    while (i < end_row_[left] || j < end_row_[right]) {
      const int32_t on_left = i < end_row_[left] ? query_of_row_[rows_[i]] : INT32_MAX;
      const int32_t on_right = j < end_row_[right] ? query_of_row_[rows_[j]] : INT32_MAX;
      const int32_t query = std::min(on_left, on_right);
      const Subset left_subset = subset_of(query, i, end_row_[left]);
      const Subset right_subset = subset_of(query, j, end_row_[right]);
      total_ -= table_.value(query);
      table_.split(query, value_[node], value_[left], left_subset, value_[right], right_subset);
      total_ += table_.value(query);
    }
  }

  Subset subset_of(int32_t query, int64_t& i, int64_t end) const {
    Subset subset;
    while (i < end && query_of_row_[rows_[i]] == query) subset.add(metric_.gain[rows_[i++]]);
    return subset;
  }

  const int32_t* left_;
  const double* value_;
  int32_t n_nodes_;
  const std::vector<int32_t>& query_of_row_;
  const ListwiseMetric& metric_;
  LeafTable table_;
  std::vector<int32_t> rows_;
  std::vector<int32_t> place_of_row_;
  std::vector<int32_t> place_, end_;
  std::vector<int64_t> begin_row_, end_row_;
  double total_ = 0.0;
};

}  // namespace

std::vector<double> strength_curve(const EnsembleArrays& trees, int64_t tree, const int32_t* leaves,
                                   const std::vector<int64_t>& offsets,
                                   const std::vector<int32_t>& query_of_row,
                                   const ListwiseMetric& metric) {
  return Regrowth(trees, tree, leaves, offsets, query_of_row, metric).curve();
}

}  // namespace rankgrove::forests
