// Bins and codes of a matrix that stores few of its entries, without making it dense.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/parallel.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/feature_bins.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerEntry = 5.0;
constexpr double kNanosecondsPerSort = 8.0;  // of a value
constexpr int64_t kMaxBlocks = 16;

// Brings the entries of rows into the order of their columns: one look counts them, a second one
// takes each to its place. Threads share blocks of rows; within a column, rows ascend.
class ColumnOrder {
 public:
  // Row i is row rows[i] of the matrix (row i if null).
  ColumnOrder(const SparseView& x, const int64_t* rows, int64_t n_rows, int n_threads)
      : x_(x), rows_(rows), n_rows_(n_rows), n_threads_(n_threads) {
    const double work = kNanosecondsPerEntry * static_cast<double>(x.starts[x.n_rows]);
    n_blocks_ = std::clamp<int64_t>(paid_threads(n_threads, work), 1, kMaxBlocks);
    places_.assign(n_blocks_ * x.n_features, 0);
  }

  // Calls body(row, entry, block) for the entries of all rows.
  template <typename Body>
  void for_each(Body&& body) const {
    const double cost = kNanosecondsPerEntry * static_cast<double>(x_.starts[x_.n_rows]) /
                        static_cast<double>(n_blocks_);
    parallel_for(n_blocks_, n_threads_, cost, [&](int64_t block) {
      const int64_t end = n_rows_ * (block + 1) / n_blocks_;
      for (int64_t i = n_rows_ * block / n_blocks_; i < end; ++i) {
        const int64_t row = rows_ ? rows_[i] : i;
        for (int64_t e = x_.starts[row]; e < x_.starts[row + 1]; ++e) body(i, e, block);
      }
    });
  }

  // Counts the entries; where each column begins.
  std::vector<int64_t> take_places() {
    for_each([&](int64_t, int64_t e, int64_t block) { ++place(block, x_.columns[e]); });
    std::vector<int64_t> starts(1, 0);
    for (int32_t f = 0; f < x_.n_features; ++f) {
      int64_t next = starts.back();
      for (int64_t block = 0; block < n_blocks_; ++block) {
        next += std::exchange(place(block, f), next);
      }
      starts.push_back(next);
    }
    return starts;
  }

  // The next place of a column, for rows of a block in ascending order.
  int64_t next_place(int64_t block, int32_t f) { return place(block, f)++; }

 private:
  int64_t& place(int64_t block, int32_t f) { return places_[block * x_.n_features + f]; }

  const SparseView& x_;
  const int64_t* rows_;
  int64_t n_rows_;
  int n_threads_;
  int64_t n_blocks_;
  std::vector<int64_t> places_;  // of each block and column: counts, then places
};

float filled(float value, float fill) { return std::isnan(value) ? fill : value; }

// The entries of a matrix column by column, as codes.
template <typename Code>
struct ColumnEntries {
  std::vector<int64_t> starts;  // of each column, n_features + 1
  LargeVector<int32_t> rows;    // ascending within a column
  LargeVector<Code> codes;
  std::vector<Code> absent;       // per column: code of the rows that have no entry
  std::vector<int64_t> n_listed;  // per column: entries with another code than that

  ColumnEntries(const SparseView& x, const Bins& bins, const int64_t* order_rows, int64_t n_rows,
                int n_threads)
      : absent(x.n_features), n_listed(x.n_features) {
    ColumnOrder order(x, order_rows, n_rows, n_threads);
    starts = order.take_places();
    rows.resize(starts.back());
    codes.resize(starts.back());
    LargeVector<float> values(starts.back());
    order.for_each([&](int64_t row, int64_t e, int64_t block) {
      const int64_t place = order.next_place(block, x.columns[e]);
      rows[place] = static_cast<int32_t>(row);
      values[place] = x.values[e];
    });
    const double cost = kNanosecondsPerEntry * static_cast<double>(starts.back()) /
                        static_cast<double>(std::max(x.n_features, 1));
    parallel_for(x.n_features, n_threads, cost, [&](int64_t i) {
      const auto f = static_cast<int32_t>(i);
      const CutSearch search(bins, f);
      const auto code = [&](float raw) {
        if (bins.is_categorical(f)) return static_cast<Code>(code_of_category(raw, bins.n_bins(f)));
        const float value = filled(raw, bins.fill[f]);
        return static_cast<Code>(std::isnan(value) ? bins.n_bins(f) : search.code(value));
      };
      absent[f] = code(x.absent);
      for (int64_t e = starts[f]; e < starts[f + 1]; ++e) {
        codes[e] = code(values[e]);
        n_listed[f] += codes[e] != absent[f];
      }
    });
  }

  // Writes a code for every row.
  void write_column(int32_t f, int64_t n_rows, Code* out) const {
    std::fill_n(out, n_rows, absent[f]);
    for (int64_t e = starts[f]; e < starts[f + 1]; ++e) out[rows[e]] = codes[e];
  }

  // Keeps only those columns that are wanted, and of these only the entries that are listed.
  template <typename Wanted>
  void compact(Wanted&& wanted) {
    int64_t next = 0;
    for (size_t f = 0; f < absent.size(); ++f) {
      const int64_t first = std::exchange(starts[f], next);
      const int64_t last = starts[f + 1];
      for (int64_t e = first; wanted(f) && e < last; ++e) {
        if (codes[e] == absent[f]) continue;
        rows[next] = rows[e];
        codes[next++] = codes[e];
      }
    }
    starts.back() = next;
    rows.resize(next);
    codes.resize(next);
  }
};

template <typename Code>
void fill_columns(const SparseView& x, const int64_t* rows, bool all_dense, int n_threads,
                  BinnedMatrix& result, LargeVector<Code>& listed) {
  ColumnEntries<Code> entries(x, *result.bins, rows, result.n_rows, n_threads);
  SparseColumns& sparse = result.sparse;
  sparse.usual.assign(x.n_features, -1);
  result.places.assign(x.n_features, -1);
  const auto dense_bytes = static_cast<int64_t>(result.n_rows * sizeof(Code));
  std::vector<int32_t> dense;
  for (int32_t f = 0; f < x.n_features; ++f) {
    const auto bytes = static_cast<int64_t>(entries.n_listed[f] * (sizeof(int32_t) + sizeof(Code)));
    if (!all_dense && bytes < dense_bytes) {
      sparse.usual[f] = entries.absent[f];
    } else {
      result.places[f] = static_cast<int32_t>(dense.size());
      dense.push_back(f);
    }
  }
  const std::shared_ptr<Code[]> codes =
      std::make_shared_for_overwrite<Code[]>(dense.size() * static_cast<size_t>(result.n_rows));
  result.codes = codes;
  parallel_for(static_cast<int64_t>(dense.size()), n_threads, 1.0 * result.n_rows, [&](int64_t i) {
    entries.write_column(dense[i], result.n_rows, codes.get() + i * result.n_rows);
  });
  entries.compact([&](size_t f) { return sparse.usual[f] >= 0; });
  sparse.starts = std::move(entries.starts);
  sparse.rows = std::move(entries.rows);
  listed = std::move(entries.codes);
}

}  // namespace

std::shared_ptr<const Bins> find_bins(const SparseView& x, const BinLimit& limit,
                                      const std::vector<float>& fill, int n_threads) {
  ColumnOrder order(x, nullptr, x.n_rows, n_threads);
  const std::vector<int64_t> starts = order.take_places();
  LargeVector<uint32_t> keys(starts.back());
  order.for_each([&](int64_t, int64_t e, int64_t block) {
    const int32_t f = x.columns[e];
    const float value = filled(x.values[e], fill[f]);
    keys[order.next_place(block, f)] = std::isnan(value) ? kMissingKey : sort_key(value);
  });
  std::vector<FeatureBins> found(x.n_features);
  const double cost = kNanosecondsPerSort * static_cast<double>(starts.back()) /
                      static_cast<double>(std::max(x.n_features, 1));
  struct Scratch {
    std::vector<uint32_t> column, sorting;
  };
  parallel_for(
      x.n_features, n_threads, cost, [] { return Scratch(); },
      [&](int64_t f, Scratch& scratch) {
        scratch.column.assign(keys.begin() + starts[f], keys.begin() + starts[f + 1]);
        const int64_t n_absent = x.n_rows - (starts[f + 1] - starts[f]);
        const UnlistedValue unlisted{filled(x.absent, fill[f]), n_absent};
        found[f] = find_feature_bins(scratch.column, unlisted, limit, scratch.sorting);
      });
  return join_bins(found, fill);
}

std::shared_ptr<BinnedMatrix> bin_matrix(const SparseView& x, std::shared_ptr<const Bins> bins,
                                         const int64_t* rows, int64_t n_rows, bool dense,
                                         int n_threads) {
  auto result = std::make_shared<BinnedMatrix>();
  result->n_rows = n_rows;
  result->wide = needs_wide_codes(*bins);
  result->bins = std::move(bins);
  if (result->wide) {
    fill_columns(x, rows, dense, n_threads, *result, result->sparse.codes16);
  } else {
    fill_columns(x, rows, dense, n_threads, *result, result->sparse.codes8);
  }
  return result;
}

}  // namespace rankgrove
