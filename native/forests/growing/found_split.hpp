// The queue of leaves with their best splits, ordered by gain.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "forests/nodes/node_splitter.hpp"
#include "forests/nodes/waiting_node.hpp"

namespace rankgrove::forests {

// The rows of the node are sorted by its split already; the children have no numbers yet.
struct FoundSplit {
  WaitingNode node, left, right;
  WaitingNode missing, values;  // of a split with a third child: it, and the other two together
  NodeSplit split;
  bool left_pure = false;
  bool right_pure = false;
  bool missing_pure = false;
  bool some_missing = false;  // a document of the node has no value of the feature
  std::shared_ptr<const std::vector<uint32_t>> categories;  // that go left; null: a threshold
  int32_t n_nodes = 0;                                      // of the tree when the split was found
};

// The records lie in slots, which are used again; what is kept in order is small.
class SplitQueue {
 public:
  // Holds the best `most` splits at any time, which is lowered by one with each pop.
  explicit SplitQueue(int64_t most) : most_(most) {}

  bool empty() const { return order_.empty(); }

  // What a split must gain more than to be held.
  double least_gain() const {
    return static_cast<int64_t>(order_.size()) < most_ ? 0.0 : std::prev(order_.end())->gain;
  }

  void push(const FoundSplit& found) {
    const Entry entry{found.split.gain, found.node.node, free_slot()};
    slots_[entry.slot] = found;
    order_.insert(entry);
    if (static_cast<int64_t>(order_.size()) <= most_) return;
    const auto last = std::prev(order_.end());
    free_.push_back(last->slot);
    order_.erase(last);
  }

  FoundSplit pop() {
    const int32_t slot = order_.begin()->slot;
    order_.erase(order_.begin());
    free_.push_back(slot);
    --most_;
    return std::move(slots_[slot]);
  }

 private:
  struct Entry {
    double gain;
    int32_t node;
    int32_t slot;

    // Of equals, the leaf that was made first is split first.
    bool operator<(const Entry& other) const {
      return gain != other.gain ? gain > other.gain : node < other.node;
    }
  };

  int32_t free_slot() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<int32_t>(slots_.size()) - 1;
    }
    const int32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  int64_t most_;
  std::set<Entry> order_;
  std::vector<FoundSplit> slots_;
  std::vector<int32_t> free_;
};

}  // namespace rankgrove::forests
