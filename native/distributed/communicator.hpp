// What the workers of one fit do together: sums and maxima of integers.
//
// Kernels that take a Communicator call it from the thread that called them, never from a loop over
// threads; all workers make the same calls in the same order. Integers add up to the same bits in
// any order, so what follows from the results is the same on every worker and for any number of
// them. A null pointer stands for one worker that has all data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rankgrove {

class Communicator {
 public:
  virtual ~Communicator() = default;

  // Replaces each value by its sum, or its maximum, over all workers.
  virtual void sum(int64_t* values, size_t n) = 0;
  virtual void maximum(int64_t* values, size_t n) = 0;
};

}  // namespace rankgrove
