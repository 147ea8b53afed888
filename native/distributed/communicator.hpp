// Collective operations of the workers of one fit: all-reduce (sums and maxima of integers) and
// all-gather (bytes).
//
// Kernels that take a Communicator call it from the thread that called them, never from a loop over
// threads; all workers make the same calls in the same order. Sums of integers have the same bits
// in any order, so results are the same on every worker and for any number of workers. A null
// pointer means a single worker with all data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankgrove {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Replaces each value by its sum, or its maximum, over all workers.
  virtual void sum(int64_t* values, size_t n) = 0;
  virtual void maximum(int64_t* values, size_t n) = 0;

  // Reduce-scatter: replaces values bounds[rank]..bounds[rank + 1] by their sums over all workers;
  // what other values become is not defined. `bounds` has size + 1 entries. The few `extra` values
  // are summed for all workers.
  virtual void sum_scatter(int64_t* values, std::span<const size_t> bounds, int64_t* extra,
                           size_t n_extra) = 0;

  // All-gather: the bytes of every worker, in order of rank, on every worker.
  virtual std::vector<std::string> gather(std::string_view own) = 0;
};

}  // namespace rankgrove
