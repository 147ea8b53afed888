// Splits of a small node by 16 features at once, a lane of a vector each: the documents are sorted
// by all these features in the same steps (Batcher's merge exchange, whose steps do not depend
// on the numbers).
//
// The term of a document in the sums is stored with its code, in the lower half of a 16-bit key:
// the number of times it was drawn, in 3 bits, and the sum of its targets, in 5, counted from the
// least target of the node.
#pragma once

#include <cstdint>

namespace rankgrove::forests {

class FeatureLanes {
 public:
  static constexpr int32_t kLanes = 16;
  static constexpr int64_t kMostRows = 128;
  static constexpr uint32_t kMostTimes = 7;
  static constexpr uint32_t kMostSum = 31;

  // Documents of one node: their parts of the keys.
  static uint8_t item(uint32_t times, uint32_t sum) {
    return static_cast<uint8_t>(times << 5 | sum);
  }
  // Forgets the node before.
  void start(const uint8_t* items, int64_t n);

  // Where the codes of each document go, one per lane, before they are sorted.
  uint8_t* codes() { return codes_; }
  void sort();

  // Whether all documents have the same code.
  bool constant(int32_t lane) const { return code(0, lane) == code(n_ - 1, lane); }
  // About (up to some 1e-6 of it) the most that a split by each feature gains in squared error.
  void greatest_gains(float* gains) const;

  // Calls visit(code, documents, sum) for every code of a feature, in ascending order, with what
  // the documents up to it sum up to.
  template <typename Visit>
  void visit_sums(int32_t lane, Visit&& visit) const {
    uint64_t documents = 0;
    uint64_t sum = 0;
    for (int64_t i = 0; i < n_; ++i) {
      const uint32_t key = key_of(i, lane);
      documents += key >> 5 & kMostTimes;
      sum += key & kMostSum;
      if (i + 1 == n_ || code(i + 1, lane) != key >> 8) visit(key >> 8, documents, sum);
    }
  }

 private:
  // Signed: there is an instruction for the smaller and the larger of two on every processor.
  typedef int16_t Keys __attribute__((vector_size(2 * kLanes)));

  uint32_t key_of(int64_t i, int32_t lane) const {
    return static_cast<uint16_t>(keys_[i][lane]) ^ 0x8000u;
  }
  uint32_t code(int64_t i, int32_t lane) const { return key_of(i, lane) >> 8; }

  int64_t n_ = 0;
  const uint8_t* items_ = nullptr;
  float n_documents_ = 0, sum_ = 0;
  alignas(32) uint8_t codes_[kMostRows * kLanes] = {};
  Keys keys_[kMostRows] = {};
};

}  // namespace rankgrove::forests
