// Stable partition of a node's documents: those that go left come first, both sides keep their
// order.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

class StablePartition {
 public:
  explicit StablePartition(size_t most_documents)
      : goes_left_(most_documents),
        right_rows_(most_documents + kSlack),
        right_labels_(most_documents + kSlack) {}

  // Moves n documents, of which there are labels unless these are null; returns how many go left.
  template <typename Code>
  int64_t apply(const Code* codes, const NodeSplit& split, int32_t missing_bin, int32_t* rows,
                uint8_t* labels, int64_t n) {
    uint8_t* const left = goes_left_.data();
    if (split.missing_left) {
      for (int64_t i = 0; i < n; ++i) left[i] = split.goes_left(codes[i], missing_bin);
    } else {
      const auto last = static_cast<Code>(split.bin);
      for (int64_t i = 0; i < n; ++i) left[i] = codes[i] <= last;
    }
    return move(rows, labels, n);
  }

 private:
  static constexpr size_t kSlack = 8;  // whole vectors are written

  int64_t move(int32_t* rows, uint8_t* labels, int64_t n);

  std::vector<uint8_t> goes_left_;
  std::vector<int32_t> right_rows_;
  std::vector<uint8_t> right_labels_;
};

}  // namespace rankgrove::forests
