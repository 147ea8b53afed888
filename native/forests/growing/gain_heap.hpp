// Leaves ordered by the gains of their splits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rankgrove::forests {

class GainHeap {
 public:
  struct Entry {
    double gain;
    int32_t node;
    int32_t place;  // where the user of the heap keeps what belongs to the leaf

    // Among equal gains, the leaf that was made first is split first.
    bool operator<(const Entry& other) const {
      return gain != other.gain ? gain < other.gain : node > other.node;
    }
  };

  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

  void push(const Entry& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end());
  }

  // The leaf whose split gains most.
  Entry pop() {
    std::pop_heap(entries_.begin(), entries_.end());
    const Entry best = entries_.back();
    entries_.pop_back();
    return best;
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace rankgrove::forests
