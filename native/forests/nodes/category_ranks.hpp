// The categories of a feature in a node, in an order in which thresholds make sense: by the mean
// target of their documents, or at random.
//
// The codes of the node's documents are replaced by the ranks of their categories, and everything
// that looks for thresholds between codes then finds subsets of categories. For squared errors, and
// for impurities of two classes, the best subset of all is a threshold in the order of means
// (Fisher 1958; Breiman et al. 1984).
//
// Example: documents of the categories 7 7 2 5 with targets 0 1 2 0 have the means 0.5, 2 and 0, so
// the order 5 7 2 and the ranks 1 1 2 0; the threshold after rank 1 parts {5, 7} from {2}.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "forests/data/forest_features.hpp"
#include "forests/data/forest_targets.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

template <typename Code>
class CategoryRanks {
 public:
  // Without targets, the order is random.
  CategoryRanks(const ForestFeatures& features, const ForestTargets* targets)
      : bins_(*features.binned->bins), targets_(targets) {}

  bool has_categories(int32_t feature) const { return bins_.is_categorical(feature); }

  // Replaces the codes of a node's documents by ranks, from 0; that of missing values stays.
  // Returns the lowest and the highest.
  std::pair<int32_t, int32_t> apply(int32_t feature, int32_t slot, const NodeRows& documents,
                                    Random& random, Code* codes) {
    if (std::ssize(orders_) <= slot) orders_.resize(slot + 1);
    std::vector<int32_t>& order = orders_[slot];
    const int32_t missing = bins_.n_bins(feature);
    const bool some_missing = collect(missing, documents, codes, order);
    std::sort(order.begin(), order.end());
    if (targets_) {
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return means_[a].mean() < means_[b].mean(); });
    } else {
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    }
    for (int32_t rank = 0; rank < std::ssize(order); ++rank) means_[order[rank]].rank = rank;
    for (int64_t i = 0; i < documents.n; ++i) {
      if (codes[i] != missing) codes[i] = static_cast<Code>(means_[codes[i]].rank);
    }
    return {0, some_missing ? missing : static_cast<int32_t>(order.size()) - 1};
  }

  // The categories of a slot by their ranks.
  std::span<const int32_t> categories(int32_t slot) const { return orders_[slot]; }

 private:
  struct Mean {
    uint64_t node = 0;  // number of the node that the sums belong to
    int32_t rank = 0;
    double sum = 0.0, weight = 0.0;
    double mean() const { return weight > 0.0 ? sum / weight : 0.0; }
  };

  // Lists the categories of the documents and adds up their targets; tells whether one is missing.
  bool collect(int32_t missing, const NodeRows& documents, const Code* codes,
               std::vector<int32_t>& order) {
    if (std::ssize(means_) < missing) means_.resize(missing);
    ++node_;
    order.clear();
    bool some_missing = false;
    for (int64_t i = 0; i < documents.n; ++i) {
      if (codes[i] == missing) {
        some_missing = true;
        continue;
      }
      Mean& mean = means_[codes[i]];
      if (mean.node != node_) {
        mean = {.node = node_};
        order.push_back(codes[i]);
      }
      if (!targets_) continue;
      const int32_t row = documents.rows[i];
      const double weight = targets_->weight.empty() ? static_cast<double>(documents.times_of(i))
                                                     : targets_->weight[row];
      mean.sum += targets_->weight.empty()
                      ? weight * targets_->target_grid.rounded(targets_->target[row])
                      : targets_->target_grid.rounded(weight * targets_->target[row]);
      mean.weight += weight;
    }
    return some_missing;
  }

  const Bins& bins_;
  const ForestTargets* targets_;
  std::vector<Mean> means_;  // by category
  std::vector<std::vector<int32_t>> orders_;
  uint64_t node_ = 0;
};

}  // namespace rankgrove::forests
