// Sums of a node's documents by the code of a feature, and the walk over them in ascending order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "forests/criteria/packed_sums.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

// The table is empty between two walks: a walk clears what it meets, so that a small node does not
// pay for all bins.
template <typename Code, typename Sums>
class CodeTable {
 public:
  using Cell = typename Sums::Cell;
  using Item = typename Sums::Item;

  CodeTable(const Sums& sums, const BinnedMatrix& binned) {
    size_t most_bins = 0;
    for (int32_t f = 0; f < binned.n_features(); ++f) {
      most_bins = std::max(most_bins, static_cast<size_t>(binned.n_bins(f)));
    }
    seen_.resize((most_bins + kWord - 1) / kWord * kWord);
    cells_.resize(most_bins * sums.stride());
  }

  // Documents go left in the order of their codes, which lie in low .. high and are not that of a
  // missing value: adds them to `left` (all zero), and calls visit(code, next code) whenever all
  // documents with that code have gone.
  template <typename Visit>
  void walk(const Sums& sums, const Code* codes, const Item* items, int64_t n, int32_t low,
            int32_t high, Cell* left, Visit&& visit) {
    if constexpr (std::is_base_of_v<PackedWord, Sums>) {
      if (n >= kTables * (high - low)) {
        return walk_many(sums, codes, items, n, low, high, left, visit);
      }
    }
    const int32_t stride = sums.stride();
    Cell* const cells = cells_.data();
    uint8_t* const seen = seen_.data();
    for (int64_t i = 0; i < n; ++i) {
      const size_t code = codes[i];
      seen[code] = 1;
      sums.add(cells + code * stride, items[i]);
    }
    int32_t last = -1;
    for (int32_t begin = low / kWord * kWord; begin <= high; begin += kWord) {
      uint64_t present;
      std::memcpy(&present, seen + begin, kWord);
      if (present == 0) continue;
      std::memset(seen + begin, 0, kWord);
      for (; present != 0; present &= present - 1) {
        const int32_t code = begin + std::countr_zero(present) / 8;
        if (last >= 0) visit(last, code);
        Cell* cell = cells + static_cast<size_t>(code) * stride;
        for (int32_t c = 0; c < stride; ++c) {
          left[c] += cell[c];
          cell[c] = Cell{};
        }
        last = code;
      }
    }
  }

 private:
  // The same for many documents: a packed sum counts them, so that 0 means none and nothing else
  // need be marked, and four tables take turns, because a sum that was just written is slow to
  // read and many columns have one code that is nearly everywhere.
  template <typename Visit>
  void walk_many(const Sums& sums, const Code* codes, const Item* items, int64_t n, int32_t low,
                 int32_t high, Cell* left, Visit&& visit) {
    if (tables_.empty()) tables_.resize(kTables * cells_.size());
    Cell* const tables = tables_.data();
    int64_t i = 0;
    for (; i + kTables <= n; i += kTables) {
#pragma GCC unroll 4
      for (int32_t t = 0; t < kTables; ++t) {
        sums.add(tables + kTables * codes[i + t] + t, items[i + t]);
      }
    }
    for (; i < n; ++i) sums.add(tables + kTables * codes[i], items[i]);
    int32_t last = -1;
    for (int32_t code = low; code <= high; ++code) {
      Cell sum{};
      for (int32_t t = 0; t < kTables; ++t) sum += std::exchange(tables[kTables * code + t], 0);
      if (sum == 0) continue;
      if (last >= 0) visit(last, code);
      *left += sum;
      last = code;
    }
  }

  static constexpr int32_t kTables = 4;

  static_assert(std::endian::native == std::endian::little, "lower codes are lower bits");
  static constexpr int32_t kWord = sizeof(uint64_t);

  std::vector<uint8_t> seen_;  // of each code: there are documents
  std::vector<Cell> cells_;
  std::vector<Cell> tables_;  // kTables cells of each code, for walk_many()
};

}  // namespace rankgrove::forests
