// The range of rows that one worker holds of all rows of a fit.
#pragma once

#include <cstdint>
#include <memory>

#include "distributed/communicator.hpp"

namespace rankgrove {

struct RowShare {
  std::shared_ptr<Communicator> communicator;  // null: this worker has all rows
  int64_t first_row = 0;                       // number of its first row among those of all workers
  int64_t n_rows = 0;                          // of all workers

  bool alone() const { return !communicator; }
  void sum(int64_t* values, size_t n) const {
    if (communicator) communicator->sum(values, n);
  }
  void maximum(int64_t* values, size_t n) const {
    if (communicator) communicator->maximum(values, n);
  }
  void sum_scatter(int64_t* values, std::span<const size_t> bounds, int64_t* extra,
                   size_t n_extra) const {
    if (communicator) communicator->sum_scatter(values, bounds, extra, n_extra);
  }
  std::vector<std::string> gather(std::string_view own) const {
    if (communicator) return communicator->gather(own);
    return {std::string(own)};
  }
  int rank() const { return communicator ? communicator->rank() : 0; }
  int size() const { return communicator ? communicator->size() : 1; }
};

}  // namespace rankgrove
