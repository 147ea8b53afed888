// The queue of leaves with their best splits, ordered by gain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "forests/growing/gain_heap.hpp"
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

// The records lie in slots, which are reused; only small entries are sorted.
class SplitQueue {
 public:
  // At most `most` splits will be popped.
  explicit SplitQueue(int64_t most) : most_(most) {}

  bool empty() const { return heap_.empty(); }

  // Splits that gain no more than this need not be pushed: there are enough that gain more.
  double least_gain() {
    const auto size = static_cast<int64_t>(heap_.entries().size());
    if (size >= most_ && n_new_ >= std::max<int64_t>(kOften, size / kOften)) find_least_gain();
    return least_gain_;
  }

  // The record that push() is going to add.
  FoundSplit& next() {
    if (free_.empty()) {
      free_.push_back(static_cast<int32_t>(slots_.size()));
      slots_.emplace_back();
    }
    return slots_[free_.back()];
  }

  void push() {
    const FoundSplit& found = next();
    heap_.push({found.split.gain, found.node.node, free_.back()});
    free_.pop_back();
    ++n_new_;
  }

  // The record stays as it is until next() is called.
  FoundSplit& pop() {
    free_.push_back(heap_.pop().place);
    --most_;
    return slots_[free_.back()];
  }

 private:
  static constexpr int64_t kOften = 16;

  // The least of the best `most_` gains only grows: an old one is still right.
  void find_least_gain() {
    gains_.clear();
    for (const GainHeap::Entry& entry : heap_.entries()) gains_.push_back(entry.gain);
    const auto least = gains_.begin() + (most_ - 1);
    std::nth_element(gains_.begin(), least, gains_.end(), std::greater<>());
    least_gain_ = *least;
    n_new_ = 0;
  }

  int64_t most_;
  GainHeap heap_;
  std::vector<FoundSplit> slots_;
  std::vector<int32_t> free_;
  std::vector<double> gains_;
  double least_gain_ = 0;
  int64_t n_new_ = 0;  // pushed since the least gain was found
};

}  // namespace rankgrove::forests
