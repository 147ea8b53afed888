// A feature matrix whose values have been replaced by small codes, and the bins behind the codes.
//
// Feature f has n_bins(f) value bins, numbered in ascending order of value, and code n_bins(f) for
// a missing value (NaN). cut(f, b) is a float32 strictly between bins b and b + 1: a value lies in
// bins 0..b exactly if value <= cut(f, b). Every feature has at least one bin. The bins of a
// categorical feature are its categories, by their codes; everything that is no code is missing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/large_pages.hpp"
#include "data/sparse_matrix.hpp"

namespace rankgrove {

// Where each feature's bins begin and end; shared by all matrices coded with it.
struct Bins {
  std::vector<int64_t> offsets;       // of each feature's cuts, n_features + 1
  std::vector<float> cuts;            // ascending within a feature, finite
  std::vector<uint8_t> has_missing;   // 1 if the training data had a NaN in this feature
  std::vector<uint8_t> has_infinity;  // 1 if the training data had a +inf in this feature
  std::vector<float> fill;            // value that stands in for NaN; NaN itself to keep it missing
  std::vector<uint8_t> categorical;   // 1 for categorical features; empty if there are none

  int32_t n_features() const { return static_cast<int32_t>(offsets.size()) - 1; }
  int32_t n_bins(int32_t f) const { return static_cast<int32_t>(offsets[f + 1] - offsets[f]) + 1; }
  float cut(int32_t f, int32_t bin) const { return cuts[offsets[f] + bin]; }
  bool is_categorical(int32_t f) const { return !categorical.empty() && categorical[f] != 0; }
  bool any_categorical() const {
    return std::any_of(categorical.begin(), categorical.end(), [](auto c) { return c != 0; });
  }
};

// Columns in which most rows have the same code, as the rows that have another one.
struct SparseColumns {
  std::vector<int32_t> usual;   // per feature: code of the rows not listed; -1: not kept so
  std::vector<int64_t> starts;  // of each feature's rows, n_features + 1
  LargeVector<int32_t> rows;    // ascending within a feature
  LargeVector<uint8_t> codes8;  // of these rows
  LargeVector<uint16_t> codes16;

  size_t n_bytes() const {
    return rows.size() * sizeof(int32_t) + codes8.size() + codes16.size() * sizeof(uint16_t);
  }

  template <typename Code>
  const Code* codes() const {
    if constexpr (sizeof(Code) == 1) {
      return codes8.data();
    } else {
      return codes16.data();
    }
  }
};

// Codes are u8 where every feature has at most 255 value bins, else u16 for all features. They are
// stored feature by feature, in memory or in a mapped file: a dense column has a code for each row,
// a sparse one lists few rows.
struct BinnedMatrix {
  std::shared_ptr<const Bins> bins;
  int64_t n_rows = 0;
  bool wide = false;                  // codes take 16 bits
  std::shared_ptr<const void> codes;  // dense columns x n_rows
  std::vector<int32_t> places;  // of each feature among the dense columns; empty: all are dense
  SparseColumns sparse;
  // Not empty if the codes are mapped from a file: where there is disk space for what is made of
  // them and need not fit into memory either.
  std::string folder;

  int32_t n_features() const { return bins->n_features(); }
  int32_t n_bins(int32_t f) const { return bins->n_bins(f); }
  int32_t missing_bin(int32_t f) const { return bins->n_bins(f); }
  bool has_missing(int32_t f) const { return bins->has_missing[f] != 0; }
  bool is_sparse(int32_t f) const { return !sparse.usual.empty() && sparse.usual[f] >= 0; }

  bool has_sparse() const {
    return std::any_of(sparse.usual.begin(), sparse.usual.end(), [](int32_t u) { return u >= 0; });
  }

  bool mapped() const { return !folder.empty(); }
  int64_t n_dense() const {
    return places.empty() ? n_features()
                          : n_features() - std::count(places.begin(), places.end(), -1);
  }
  int64_t n_bytes() const { return n_rows * n_dense() * (wide ? 2 : 1); }  // of dense columns

  // The codes of a dense column.
  template <typename Code>
  const Code* column(int32_t f) const {
    const int64_t place = places.empty() ? f : places[f];
    return static_cast<const Code*>(codes.get()) + place * n_rows;
  }

  // The code of one row.
  template <typename Code>
  Code code(int32_t f, int32_t row) const {
    if (!is_sparse(f)) return column<Code>(f)[row];
    const auto first = sparse.rows.begin() + sparse.starts[f];
    const auto last = sparse.rows.begin() + sparse.starts[f + 1];
    const auto found = std::lower_bound(first, last, row);
    if (found == last || *found != row) return static_cast<Code>(sparse.usual[f]);
    return sparse.codes<Code>()[found - sparse.rows.begin()];
  }

  // The codes of any column; `buffer` receives those of a sparse one.
  template <typename Code>
  const Code* column(int32_t f, std::vector<Code>& buffer) const {
    if (!is_sparse(f)) return column<Code>(f);
    buffer.assign(n_rows, static_cast<Code>(sparse.usual[f]));
    const Code* codes = sparse.codes<Code>();
    for (int64_t i = sparse.starts[f]; i < sparse.starts[f + 1]; ++i) {
      buffer[sparse.rows[i]] = codes[i];
    }
    return buffer.data();
  }

  // Lets the system take back the memory of codes that are mapped from a file, of some rows.
  void release(int64_t begin, int64_t end) const;
  void release() const { release(0, n_rows); }
};

// Whether codes need 16 bits.
bool needs_wide_codes(const Bins& bins);

inline constexpr int32_t kMaxBins8 = 255;
inline constexpr int32_t kMaxBins16 = 65534;

// How the values of a feature are divided where they are too many for a bin each.
enum class BinRule {
  kQuantile,      // bins of about equal numbers of rows
  kGreedyLogSum,  // bins whose logarithms of numbers of rows have a large sum
};

struct BinLimit {
  int32_t max_bins = kMaxBins8;
  BinRule rule = BinRule::kQuantile;
};

// Finds the bins of a sparse matrix; see BinFinder.
std::shared_ptr<const Bins> find_bins(const SparseView& x, const BinLimit& limit,
                                      const std::vector<float>& fill, int n_threads);

// Codes the rows of x, in the order of `rows` (length n_rows of the result) or as they are if null.
// The columns of a sparse matrix stay sparse where that takes less memory, unless all are wanted
// dense.
std::shared_ptr<BinnedMatrix> bin_matrix(const SparseView& x, std::shared_ptr<const Bins> bins,
                                         const int64_t* rows, int64_t n_rows, bool dense,
                                         int n_threads);

}  // namespace rankgrove
