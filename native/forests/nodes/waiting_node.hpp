// A leaf of a growing tree that waits to be split.
#pragma once

#include <array>
#include <cstdint>

#include "common/random.hpp"
#include "forests/criteria/count_classes.hpp"

namespace rankgrove::forests {

// Owns rows[begin .. end) of the tree's sample.
struct WaitingNode {
  int32_t node = 0;
  int32_t depth = 0;
  int64_t begin = 0;
  int64_t end = 0;
  double value = 0.0;
  uint64_t key = 0;         // names the node's random stream; follows from its path alone
  int64_t n_documents = 0;  // a row that was drawn twice counts twice
  std::array<uint32_t, kFewClasses> class_counts{};  // of its documents, if there are few classes

  int64_t n_rows() const { return end - begin; }
};

// The random streams of a node's children.
inline uint64_t left_key(uint64_t key) { return mix64(key ^ 0x5bd1e995u); }
inline uint64_t right_key(uint64_t key) { return mix64(key + 1); }

}  // namespace rankgrove::forests
