// A growing array of vectors with the alignment that vector instructions need.
#pragma once

#include <cstddef>
#include <vector>

namespace rankgrove {

template <typename Vector>
class LaneBuffer {
 public:
  explicit LaneBuffer(size_t size = 0) : vectors_(size) {}

  Vector* data() { return vectors_.empty() ? nullptr : &vectors_.front().lanes; }
  void grow_to(size_t size) {
    if (vectors_.size() < size) vectors_.resize(size);
  }

 private:
  struct alignas(sizeof(Vector)) Aligned {
    Vector lanes = {};
  };
  std::vector<Aligned> vectors_;
};

}  // namespace rankgrove
