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
// pay for all bins. Packed sums have four tables, side by side, that take turns: a sum that was
// just written is slow to read, and many columns have one code that is nearly everywhere.
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
    cells_.resize(most_bins * kTables * sums.stride());
  }

  // Documents go left in the order of their codes, which lie in low .. high and are not that of a
  // missing value: adds them to `left` (all zero), and calls visit(code, next code) whenever all
  // documents with that code have gone.
  template <typename Visit>
  void walk(const Sums& sums, const Code* codes, const Item* items, int64_t n, int32_t low,
            int32_t high, Cell* left, Visit&& visit) {
    int32_t last = -1;
    const auto pass = [&](int32_t code) {
      if (last >= 0) visit(last, code);
      take(sums, code, left);
      last = code;
    };
    if (kPacked && n >= kTables * (high - low)) {
      add_documents<false>(sums, codes, items, n);
      for (int32_t code = low; code <= high; ++code) {
        if (has_documents(code)) pass(code);
      }
      return;
    }
    add_documents<true>(sums, codes, items, n);
    for (int32_t begin = low / kWord * kWord; begin <= high; begin += kWord) {
      uint64_t present;
      std::memcpy(&present, seen_.data() + begin, kWord);
      if (present == 0) continue;
      std::memset(seen_.data() + begin, 0, kWord);
      for (; present != 0; present &= present - 1) pass(begin + std::countr_zero(present) / 8);
    }
  }

 private:
  static constexpr bool kPacked = std::is_base_of_v<PackedWord, Sums>;
  static constexpr int32_t kTables = kPacked ? 4 : 1;

  static_assert(std::endian::native == std::endian::little, "lower codes are lower bits");
  static constexpr int32_t kWord = sizeof(uint64_t);

  template <bool marked>
  void add_documents(const Sums& sums, const Code* codes, const Item* items, int64_t n) {
    const int32_t stride = sums.stride();
    Cell* const cells = cells_.data();
    uint8_t* const seen = seen_.data();
    const auto add = [&](int64_t i, int32_t table) {
      const size_t code = codes[i];
      if constexpr (marked) seen[code] = 1;
      sums.add(cells + (code * kTables + table) * stride, items[i]);
    };
    int64_t i = 0;
    for (; i + kTables <= n; i += kTables) {
#pragma GCC unroll 4
      for (int32_t table = 0; table < kTables; ++table) add(i + table, table);
    }
    for (; i < n; ++i) add(i, 0);
  }

  // A packed sum counts documents: 0 means that there are none.
  bool has_documents(int32_t code) const {
    const Cell* cell = cells_.data() + static_cast<size_t>(code) * kTables;
    Cell any{};
    for (int32_t table = 0; table < kTables; ++table) any += cell[table];
    return any != Cell{};
  }

  // Moves the sums of a code to `left`.
  void take(const Sums& sums, int32_t code, Cell* left) {
    const int32_t stride = sums.stride();
    Cell* cell = cells_.data() + static_cast<size_t>(code) * kTables * stride;
    for (int32_t c = 0; c < stride; ++c) {
      Cell sum{};
      for (int32_t table = 0; table < kTables; ++table) {
        sum += std::exchange(cell[table * stride + c], Cell{});
      }
      left[c] += sum;
    }
  }

  std::vector<uint8_t> seen_;  // of each code: there are documents
  std::vector<Cell> cells_;    // kTables cells of each code
};

}  // namespace rankgrove::forests
