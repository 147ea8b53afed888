// Sums over the documents of a node, from which its value follows, as integers that are summed over
// all workers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forests/data/forest_targets.hpp"

namespace rankgrove::forests {

// The rows of one tree on this worker; nodes own ranges of them.
struct ShardRows {
  std::vector<int32_t> rows;
  std::vector<uint32_t> times;  // by row of the data; empty if a row is listed once for each time

  uint32_t times_of(int32_t row) const { return times.empty() ? 1 : times[row]; }
};

// The summary of a node whose sums are complete.
struct NodeSummary {
  int64_t n_rows = 0;  // that are listed
  int64_t n_documents = 0;
  double weight = 0;
  double value = 0;
  double low = 0, high = 0;  // targets; unless documents are counted by class
  bool pure = true;
};

class NodeSums {
 public:
  explicit NodeSums(const ForestTargets& targets)
      : targets_(targets),
        n_counted_(targets.has_classes() && targets.weight.empty() ? targets.n_classes() : 0) {}

  // Numbers per node that are added up, and those of which the maximum is taken.
  int32_t n_sums() const { return kCounts + n_counted_; }
  int32_t n_maxima() const { return n_counted_ > 0 ? 0 : 2; }

  // This worker's part, of rows begin .. end - 1.
  void add(const ShardRows& rows, int64_t begin, int64_t end, int64_t* sums, int64_t* maxima) const;

  // The summary of the documents of one node, or of several together, given the results of all
  // workers.
  NodeSummary summary(std::span<const int64_t* const> sums,
                      std::span<const int64_t* const> maxima) const;

 private:
  enum { kRows, kDocuments, kWeight, kTarget, kRest, kCounts };
  enum { kHigh, kLow };

  const ForestTargets& targets_;
  int32_t n_counted_;  // classes that are counted
};

}  // namespace rankgrove::forests
