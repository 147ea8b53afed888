#include "data/sparse_matrix.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerEntry = 1.0;
constexpr double kNanosecondsPerValue = 0.3;
constexpr int64_t kRowBlock = 4096;

}  // namespace

RowOrder check_rows(const int64_t* starts, int64_t n_rows, const int32_t* columns,
                    int64_t n_entries, int32_t n_features, int n_threads) {
  if (starts[0] != 0) {
    throw std::invalid_argument("its first row starts at entry " + std::to_string(starts[0]) +
                                ", not at 0");
  }
  for (int64_t row = 0; row < n_rows; ++row) {
    if (starts[row + 1] < starts[row]) {
      throw std::invalid_argument("row " + std::to_string(row) + " ends at entry " +
                                  std::to_string(starts[row + 1]) + ", before its start at " +
                                  std::to_string(starts[row]));
    }
  }
  if (starts[n_rows] > n_entries) {
    throw std::invalid_argument("its rows end at entry " + std::to_string(starts[n_rows]) +
                                ", but there are " + std::to_string(n_entries));
  }
  std::atomic<bool> ascending{true};
  const double cost = kNanosecondsPerEntry * static_cast<double>(starts[n_rows]) *
                      static_cast<double>(kRowBlock) /
                      static_cast<double>(std::max<int64_t>(n_rows, 1));
  parallel_for((n_rows + kRowBlock - 1) / kRowBlock, n_threads, cost, [&](int64_t block) {
    bool in_order = true;
    const int64_t end = std::min(n_rows, (block + 1) * kRowBlock);
    for (int64_t row = block * kRowBlock; row < end; ++row) {
      int32_t last = -1;
      for (int64_t i = starts[row]; i < starts[row + 1]; ++i) {
        const int32_t column = columns[i];
        if (column < 0 || column >= n_features) {
          throw std::invalid_argument("row " + std::to_string(row) + " has an entry in column " +
                                      std::to_string(column) + ", but there are " +
                                      std::to_string(n_features) + " columns");
        }
        in_order &= column > last;
        last = column;
      }
    }
    if (!in_order) ascending.store(false, std::memory_order_relaxed);
  });
  return ascending.load() ? RowOrder::kAscending : RowOrder::kMixed;
}

template <typename T>
void write_dense(const SparseMatrix<T>& x, int64_t begin, int64_t end, const int32_t* places,
                 int64_t n_places, int n_threads, T* out) {
  const double per_row = static_cast<double>(x.starts[end] - x.starts[begin]) /
                         static_cast<double>(std::max<int64_t>(end - begin, 1));
  const double cost =
      kNanosecondsPerValue * static_cast<double>(n_places) + kNanosecondsPerEntry * per_row;
  parallel_for(end - begin, n_threads, cost, [&](int64_t i) {
    T* row = out + i * n_places;
    std::fill_n(row, n_places, x.absent);
    for (int64_t e = x.starts[begin + i]; e < x.starts[begin + i + 1]; ++e) {
      const int32_t place = places ? places[x.columns[e]] : x.columns[e];
      if (place >= 0) row[place] = x.values[e];
    }
  });
}

template void write_dense(const SparseMatrix<float>&, int64_t, int64_t, const int32_t*, int64_t,
                          int, float*);
template void write_dense(const SparseMatrix<double>&, int64_t, int64_t, const int32_t*, int64_t,
                          int, double*);

}  // namespace rankgrove
