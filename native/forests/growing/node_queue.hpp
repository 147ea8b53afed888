// The queue of leaves that wait to be split.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/nodes/waiting_node.hpp"

namespace rankgrove::forests {

class NodeQueue {
  // Equals go in the order in which they were made.
  auto later() const {
    return
        [by_size = order_ == NodeOrder::kBiggestFirst](const WaitingNode& a, const WaitingNode& b) {
          if (by_size && a.n_documents != b.n_documents) return a.n_documents < b.n_documents;
          if (!by_size && a.value != b.value) return a.value < b.value;
          return a.node > b.node;
        };
  }

 public:
  NodeQueue(NodeOrder order, uint64_t seed) : order_(order), random_(seed) {}

  NodeOrder order() const { return order_; }
  bool empty() const { return first_ == waiting_.size(); }

  // Pushes nodes from left to right, so that depth-first goes left first as well.
  void push_all(const std::vector<WaitingNode>& nodes) {
    if (order_ == NodeOrder::kDepthFirst) {
      for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) push(*node);
    } else {
      for (const WaitingNode& node : nodes) push(node);
    }
  }

  void push(const WaitingNode& node) {
    waiting_.push_back(node);
    if (heaped()) std::push_heap(waiting_.begin(), waiting_.end(), later());
  }

  WaitingNode pop() {
    if (order_ == NodeOrder::kBreadthFirst) {
      const WaitingNode next = waiting_[first_++];
      if (2 * first_ >= waiting_.size()) {
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(first_));
        first_ = 0;
      }
      return next;
    }
    if (heaped()) {
      std::pop_heap(waiting_.begin(), waiting_.end(), later());
    } else if (order_ == NodeOrder::kRandom) {
      std::swap(waiting_[random_.below(waiting_.size())], waiting_.back());
    }
    const WaitingNode last = waiting_.back();
    waiting_.pop_back();
    return last;
  }

 private:
  bool heaped() const {
    return order_ == NodeOrder::kBiggestFirst || order_ == NodeOrder::kMostRelevantFirst;
  }

  NodeOrder order_;
  Random random_;
  std::vector<WaitingNode> waiting_;
  size_t first_ = 0;  // that has not gone yet, if they go in the order in which they came
};

}  // namespace rankgrove::forests
