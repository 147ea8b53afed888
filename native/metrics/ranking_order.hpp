// The order in which scores rank the documents of one query: the one sorter of metrics and
// objectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankgrove {

// Sorts the documents of a query by descending score; equal scores keep the order of the rows. NaN
// gets some fixed place, so that the result is always a permutation.
class RankingOrder {
 public:
  // Returns n row indices, best first; they stay valid until the next call.
  const int32_t* sort(const double* scores, size_t n);

 private:
  struct Ranked {
    int64_t key;
    int32_t row;
  };

  void sort_run(const double* scores, size_t n, int32_t* order);
  bool sort_by_counting(const double* scores, size_t n, int32_t* order);
  void sort_by_keys(const double* scores, size_t n, int32_t* order);
  void merge_runs(const double* scores, size_t n);

  std::vector<int32_t> order_, coarse_, ranks_;
  std::vector<int64_t> keys_;
  std::vector<Ranked> runs_, spare_;
};

}  // namespace rankgrove
