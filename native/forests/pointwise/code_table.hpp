// Sums of a node's documents by the code of a feature, read in ascending order of codes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "forests/criteria/packed_sums.hpp"
#include "forests/pointwise/byte_sums.hpp"
#include "forests/pointwise/code_marks.hpp"
#include "forests/pointwise/code_ranks.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

// The table is empty between two walks: a walk clears the bins that it visits, so a small node does
// not pay for all bins. Packed sums have four tables, side by side, that take turns: a sum that was
// just written is slow to read, and many columns have one code that is nearly everywhere.
template <typename Code, typename Sums>
class CodeTable {
 public:
  using Cell = typename Sums::Cell;
  using Item = typename Sums::Item;

  static constexpr bool kPacked = std::is_base_of_v<PackedWord, Sums>;

  CodeTable(const Sums& sums, const BinnedMatrix& binned)
      : marks_(most_bins(binned)), cells_(most_bins(binned) * kTables * sums.stride()) {}

  // Documents go left in the order of their codes, which lie in low .. high and are not that of a
  // missing value: adds them to `left` (all zero), and calls visit(code, next code) whenever all
  // documents with that code have gone.
  template <typename Visit>
  void walk(const Sums& sums, const Code* codes, const Item* items, int64_t n, int32_t low,
            int32_t high, Cell* left, Visit&& visit) {
    add_documents<true>(sums, codes, items, n);
    int32_t last = -1;
    marks_.take(low, high, [&](int32_t code) {
      if (last >= 0) visit(last, code);
      take(sums, code, left);
      last = code;
    });
  }

  // The same for packed sums, all at once: writes the codes of the node (the buffer holds all from
  // low to high) and the sum of the documents up to each; returns how many codes there are.
  int32_t running_sums(const Sums& sums, const Code* codes, const Item* items, int64_t n,
                       int32_t low, int32_t high, int32_t usual, Cell total, int32_t* present,
                       Cell* left)
    requires kPacked
  {
    if (n <= kMostRanked) return sums_by_rank(codes, items, n, present, left);
    if constexpr (sizeof(Code) == 1) {
      if (usual >= 0 && ByteSums::available()) {
        return byte_sums_.running(codes, items, n, static_cast<uint8_t>(usual), total, present,
                                  left);
      }
    }
    int32_t n_present = 0;
    Cell sum{};
    if (n >= kTables * (high - low)) {
      add_documents<false>(sums, codes, items, n);
      for (int32_t code = low; code <= high; ++code) {  // a sum that counts nobody is 0
        const Cell taken = take_packed(code);
        present[n_present] = code;
        left[n_present] = sum += taken;
        n_present += taken != Cell{};
      }
      return n_present;
    }
    add_documents<true>(sums, codes, items, n);
    marks_.take(low, high, [&](int32_t code) {
      present[n_present] = code;
      left[n_present++] = sum += take_packed(code);
    });
    return n_present;
  }

 private:
  // For few documents, which are sorted.
  static int32_t sums_by_rank(const Code* codes, const Item* items, int64_t n, int32_t* present,
                              Cell* left)
    requires kPacked
  {
    typename RankOf<Code>::Type ranks[kMostRanked];
    Item sorted_items[kMostRanked];
    int32_t sorted_codes[kMostRanked + 1];
    rank_codes(codes, n, ranks);
    for (int64_t i = 0; i < n; ++i) {
      sorted_items[ranks[i]] = items[i];
      sorted_codes[ranks[i]] = codes[i];
    }
    sorted_codes[n] = -1;
    int32_t n_present = 0;
    Cell sum{};
    for (int64_t i = 0; i < n; ++i) {
      present[n_present] = sorted_codes[i];
      left[n_present] = sum += sorted_items[i];
      n_present += sorted_codes[i] != sorted_codes[i + 1];
    }
    return n_present;
  }

  static constexpr int32_t kTables = kPacked ? 4 : 1;

  static size_t most_bins(const BinnedMatrix& binned) {
    size_t most = 0;
    for (int32_t f = 0; f < binned.n_features(); ++f) {
      most = std::max(most, static_cast<size_t>(binned.n_bins(f)));
    }
    return most;
  }

  template <bool marked>
  void add_documents(const Sums& sums, const Code* codes, const Item* items, int64_t n) {
    const int32_t stride = sums.stride();
    Cell* const cells = cells_.data();
    uint8_t* const marks = marks_.data();
    const auto add = [&](int64_t i, int32_t table) {
      const size_t code = codes[i];
      if constexpr (marked) marks[code] = CodeMarks::kMark;
      sums.add(cells + (code * kTables + table) * stride, items[i]);
    };
    int64_t i = 0;
    for (; i + kTables <= n; i += kTables) {
#pragma GCC unroll 4
      for (int32_t table = 0; table < kTables; ++table) add(i + table, table);
    }
    for (; i < n; ++i) add(i, 0);
  }

  // Moves the sums of a code to `left`.
  void take(const Sums& sums, int32_t code, Cell* left) {
    if constexpr (kPacked) {
      *left += take_packed(code);
    } else {
      const int32_t stride = sums.stride();
      Cell* cell = cells_.data() + static_cast<size_t>(code) * stride;
      for (int32_t c = 0; c < stride; ++c) left[c] += std::exchange(cell[c], Cell{});
    }
  }

  // The sum of a code, which is then gone.
  Cell take_packed(int32_t code)
    requires kPacked
  {
    typedef Cell Pair __attribute__((vector_size(2 * sizeof(Cell))));
    Cell* const cell = cells_.data() + static_cast<size_t>(code) * kTables;
    Pair first, second;
    std::memcpy(&first, cell, sizeof first);
    std::memcpy(&second, cell + 2, sizeof second);
    std::memset(cell, 0, kTables * sizeof(Cell));
    first += second;
    return first[0] + first[1];
  }

  CodeMarks marks_;
  ByteSums byte_sums_;
  std::vector<Cell> cells_;  // kTables cells of each code
};

}  // namespace rankgrove::forests
