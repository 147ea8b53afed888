// Codes of a few features for the rows of one node, gathered side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "forests/data/forest_features.hpp"
#include "forests/nodes/byte_codes.hpp"
#include "forests/nodes/category_ranks.hpp"
#include "forests/nodes/document_bits.hpp"
#include "forests/nodes/feature_draw.hpp"

namespace rankgrove::forests {

template <typename Code>
class NodeCodes {
 public:
  explicit NodeCodes(const ForestFeatures& features)
      : binned_(*features.binned),
        all_(features.row_by_row ? features.row_codes<Code>() : nullptr),
        stride_(binned_.n_features()) {}

  // Codes of `features` for n rows, into slots from `first_slot` on: codes(slot)[i].
  void gather(const int32_t* features, int32_t n_features, int32_t first_slot, const int32_t* rows,
              int64_t n) {
    n_ = n;
    const auto size = static_cast<size_t>((first_slot + n_features) * n + kCodeSlack);
    if (codes_.size() < size) codes_.resize(size);
    Code* out = codes_.data() + first_slot * n;
    if (!all_) {
      for (int32_t slot = 0; slot < n_features; ++slot, out += n) {
        gather_any(features[slot], rows, n, out);
      }
      return;
    }
    // A large node has a row in nearly every cache line of a column; a smaller one has not, and
    // finds its features closer together in a row.
    if (n * 8 >= binned_.n_rows) {
      for (int32_t slot = 0; slot < n_features; ++slot, out += n) {
        const Code* column = binned_.column<Code>(features[slot]);
#pragma GCC unroll 8
        for (int64_t i = 0; i < n; ++i) out[i] = column[rows[i]];
      }
      return;
    }
    if (n_features == 1) {
      gather_column(all_ + features[0], rows, n, out);
      return;
    }
    constexpr int64_t kBlock = 128;
    constexpr int32_t kLine = 64 / sizeof(Code);
    int64_t offsets[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = std::min(n, begin + kBlock);
      for (int64_t i = begin; i < end; ++i) offsets[i - begin] = rows[i] * stride_;
      for (int64_t i = end; n > kNear && i < std::min(n, end + kBlock); ++i) {
        const Code* row = all_ + rows[i] * stride_;
        for (int64_t f = 0; f < stride_; f += kLine) __builtin_prefetch(row + f);
      }
      for (int32_t slot = 0; slot < n_features; ++slot) {
        const Code* column = all_ + features[slot];
        Code* block = out + slot * n + begin;
#pragma GCC unroll 8
        for (int64_t i = 0; i < end - begin; ++i) block[i] = column[offsets[i]];
      }
    }
  }

  // The same for one feature and few rows; returns the smallest and the largest code.
  std::pair<Code, Code> gather_few(int32_t feature, int32_t slot, const int32_t* rows, int64_t n) {
    n_ = n;
    const auto size = static_cast<size_t>((slot + 1) * n + kCodeSlack);
    if (codes_.size() < size) codes_.resize(size);
    Code* out = codes_.data() + slot * n;
    if (!all_) {
      gather_any(feature, rows, n, out);
      const auto [low, high] = std::minmax_element(out, out + n);
      return {*low, *high};
    }
    const Code* column = all_ + feature;
    Code low = std::numeric_limits<Code>::max();
    Code high = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Code code = column[rows[i] * stride_];
      out[i] = code;
      low = std::min(low, code);
      high = std::max(high, code);
    }
    return {low, high};
  }

  // Whether codes are at hand row by row.
  bool row_by_row() const { return all_ != nullptr; }

  // Codes of up to `kLanes` features for each of n rows, side by side: out[i * kLanes + feature].
  // Lanes without a feature repeat the first feature.
  template <int32_t kLanes>
  void gather_lanes(const int32_t* features, int32_t n_features, const int32_t* rows, int64_t n,
                    Code* out) const {
    int64_t columns[kLanes];
    for (int32_t k = 0; k < kLanes; ++k) columns[k] = features[k < n_features ? k : 0];
    for (int64_t i = 0; i < n; ++i) {
      const Code* row = all_ + rows[i] * stride_;
#pragma GCC unroll 16
      for (int32_t k = 0; k < kLanes; ++k) out[i * kLanes + k] = row[columns[k]];
    }
  }

  const Code* codes(int32_t slot) const { return codes_.data() + slot * n_; }
  Code* codes(int32_t slot) { return codes_.data() + slot * n_; }

  // Smallest and largest code of a slot.
  std::pair<Code, Code> range(int32_t slot) const {
    const Code* code = codes(slot);
    if constexpr (sizeof(Code) == 1) return range_of(code, n_);
    Code low = code[0];
    Code high = code[0];
    for (int64_t i = 1; i < n_; ++i) {
      low = std::min(low, code[i]);
      high = std::max(high, code[i]);
    }
    return {low, high};
  }

 private:
  static constexpr int64_t kNear = 1024;  // the rows of a smaller node are in the cache

  // For a matrix with sparse columns. Rows mostly ascend: each is searched from the previous one
  // on.
  void gather_any(int32_t feature, const int32_t* rows, int64_t n, Code* out) const {
    if (!binned_.is_sparse(feature)) {
      const Code* column = binned_.column<Code>(feature);
      for (int64_t i = 0; i < n; ++i) out[i] = column[rows[i]];
      return;
    }
    const SparseColumns& sparse = binned_.sparse;
    const int32_t* const first = sparse.rows.data() + sparse.starts[feature];
    const int32_t* const last = sparse.rows.data() + sparse.starts[feature + 1];
    const Code* const codes = sparse.codes<Code>() + sparse.starts[feature];
    const auto usual = static_cast<Code>(sparse.usual[feature]);
    const int32_t* found = first;
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0 && rows[i] < rows[i - 1]) found = first;
      int64_t step = 1;
      while (last - found > step && found[step] < rows[i]) step *= 2;
      found = std::lower_bound(found, found + std::min<int64_t>(last - found, step + 1), rows[i]);
      out[i] = found != last && *found == rows[i] ? codes[found - first] : usual;
    }
  }

  void gather_column(const Code* column, const int32_t* rows, int64_t n, Code* out) const {
    constexpr int64_t kAhead = 32;
    int64_t i = 0;
    for (; n > kNear && i + kAhead < n; ++i) {
      __builtin_prefetch(column + rows[i + kAhead] * stride_);
      out[i] = column[rows[i] * stride_];
    }
#pragma GCC unroll 4
    for (; i < n; ++i) out[i] = column[rows[i] * stride_];
  }

  const BinnedMatrix& binned_;
  const Code* all_;  // row by row; null if the matrix has sparse columns
  int64_t stride_;
  int64_t n_ = 0;
  std::vector<Code> codes_;
};

// Draws K features for a node of n documents, and with `redraw` more, one at a time, as long as all
// drawn ones are constant there; calls visit(slot, feature, lowest code, highest code) for those
// that are not constant, until it returns false. gather(features, n_features, first_slot) is called
// before range(slot, feature), which returns the lowest and the highest code, and few(feature,
// slot) in place of both.
template <typename Gather, typename Range, typename Few, typename Visit>
[[gnu::always_inline]] inline void visit_drawn_ranges(FeatureDraw& draw, int32_t max_features,
                                                      bool redraw, int64_t n,
                                                      std::vector<int32_t>& features,
                                                      Random& random, Gather&& gather,
                                                      Range&& range, Few&& few, Visit&& visit) {
  constexpr int64_t kFew = 16;  // a small node is often done with its first features
  draw.start();
  int32_t n_drawn = 0;
  bool splittable = false;
  const auto more = [&] {
    return !draw.exhausted() && (n_drawn < max_features || (redraw && !splittable));
  };
  while (n <= kFew && more()) {
    const int32_t feature = draw.next(random);
    const int32_t slot = std::min(n_drawn++, max_features);
    const auto [low, high] = few(feature, slot);
    if (low == high) continue;
    splittable = true;
    if (!visit(slot, feature, static_cast<int32_t>(low), static_cast<int32_t>(high))) return;
  }
  while (more()) {
    const int32_t wanted = std::max(1, max_features - n_drawn);
    features.clear();
    while (static_cast<int32_t>(features.size()) < wanted && !draw.exhausted()) {
      features.push_back(draw.next(random));
    }
    const auto n_new = static_cast<int32_t>(features.size());
    const int32_t first_slot = std::min(n_drawn, max_features);
    gather(features.data(), n_new, first_slot);
    for (int32_t i = 0; i < n_new; ++i) {
      const auto [low, high] = range(first_slot + i, features[i]);
      if (low == high) continue;
      splittable = true;
      if (!visit(first_slot + i, features[i], static_cast<int32_t>(low),
                 static_cast<int32_t>(high))) {
        return;
      }
    }
    n_drawn += n_new;
  }
}

// The same with the codes of the node's documents, which are gathered. Those of categorical
// features are ranks when they are visited.
template <typename Code, typename Visit>
void visit_drawn_features(FeatureDraw& draw, int32_t max_features, bool redraw,
                          NodeCodes<Code>& codes, CategoryRanks<Code>& ranks,
                          const NodeRows& documents, std::vector<int32_t>& features, Random& random,
                          Visit&& visit) {
  const int32_t* rows = documents.rows;
  const int64_t n = documents.n;
  visit_drawn_ranges(
      draw, max_features, redraw, n, features, random,
      [&](const int32_t* some, int32_t n_some, int32_t first_slot) {
        codes.gather(some, n_some, first_slot, rows, n);
      },
      [&](int32_t slot, int32_t) { return codes.range(slot); },
      [&](int32_t feature, int32_t slot) { return codes.gather_few(feature, slot, rows, n); },
      [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
        if (ranks.has_categories(feature)) {
          std::tie(low, high) = ranks.apply(feature, slot, documents, random, codes.codes(slot));
        }
        return visit(slot, feature, low, high);
      });
}

// The same with documents that are bits of a word; calls visit(feature, lowest code, highest code).
template <typename Visit>
void visit_drawn_features(FeatureDraw& draw, int32_t max_features, bool redraw,
                          const DocumentBits& documents, std::vector<int32_t>& features,
                          Random& random, Visit&& visit) {
  visit_drawn_ranges(
      draw, max_features, redraw, documents.n_members(), features, random,
      [](const int32_t*, int32_t, int32_t) {},
      [&](int32_t, int32_t feature) { return documents.range(feature); },
      [&](int32_t feature, int32_t) { return documents.range(feature); },
      [&](int32_t, int32_t feature, int32_t low, int32_t high) {
        return visit(feature, low, high);
      });
}

}  // namespace rankgrove::forests
