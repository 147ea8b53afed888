// The queue of leaves with their best splits, ordered by gain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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

class SplitQueue {
 public:
  bool empty() const { return found_.empty(); }

  void push(const FoundSplit& found) {
    found_.push_back(found);
    std::push_heap(found_.begin(), found_.end(), gains_less);
  }

  FoundSplit pop() {
    std::pop_heap(found_.begin(), found_.end(), gains_less);
    const FoundSplit best = found_.back();
    found_.pop_back();
    return best;
  }

 private:
  // Of equals, the leaf that was made first is split first.
  static bool gains_less(const FoundSplit& a, const FoundSplit& b) {
    if (a.split.gain != b.split.gain) return a.split.gain < b.split.gain;
    return a.node.node > b.node.node;
  }

  std::vector<FoundSplit> found_;
};

}  // namespace rankgrove::forests
