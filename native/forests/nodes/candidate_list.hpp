// The distinct codes of a feature in a node, in ascending order, with the sums over the documents
// of each: where all thresholds of a feature come from.
//
// Large nodes count by code. Small ones sort their few codes, which is cheaper than clearing and
// scanning a table of all bins. The result is the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "forests/data/forest_features.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

template <typename Code>
class CandidateList {
 public:
  explicit CandidateList(const ForestFeatures& features) : features_(features) {}

  int32_t size() const { return size_; }
  int32_t code(int32_t entry) const { return codes_[entry]; }
  // Where the entry's cell begins in the cells that `build` filled.
  int64_t offset(int32_t entry) const { return offsets_[entry]; }

  template <typename Sums>
  void build(const Code* codes, const typename Sums::Item* items, int64_t n, int32_t low,
             int32_t high, const Sums& sums, std::vector<typename Sums::Cell>& cells) {
    const int64_t span = high - low + 1;
    size_ = 0;
    if (const auto most = static_cast<size_t>(std::min(n, span)); codes_.size() < most) {
      codes_.resize(most);
      offsets_.resize(most);
    }
    if (n <= kSortBelow || span > 16 * n) {
      sort(codes, n);
      sum_sorted(items, n, sums, cells);
    } else {
      count(codes, items, n, low, span, sums, cells);
    }
  }

  // The same for codes that are known already, in ascending order, whose cells begin at `offsets`.
  void assign(const std::vector<int32_t>& codes, const std::vector<int64_t>& offsets) {
    codes_ = codes;
    offsets_ = offsets;
    size_ = static_cast<int32_t>(codes.size());
  }

  // Walks the thresholds in ascending order. enter(first, entry): the documents of an entry go left
  // now (first: nothing has gone left before). candidate(bin, next, missing_left): all entries so
  // far are left; `next` is the smallest code to the right. Documents with a missing value are
  // tried on the right, then, if `both_sides`, on the left. Of all thresholds a random fraction is
  // visited.
  template <typename Enter, typename Candidate>
  void for_each_threshold(int32_t feature, double fraction, Random& random, Enter&& enter,
                          Candidate&& candidate, bool both_sides = true) const {
    const int32_t n_bins = features_.binned->n_bins(feature);
    const bool some_missing = codes_[size_ - 1] == n_bins;
    const int32_t n_values = size() - some_missing;
    const auto walk = [&](bool missing_left, int32_t n_thresholds) {
      int64_t wanted = n_thresholds;
      if (fraction < 1) {
        wanted = std::max<int64_t>(
            1, static_cast<int64_t>(std::ceil(fraction * static_cast<double>(n_thresholds))));
      }
      if (missing_left) enter(true, size() - 1);
      for (int32_t entry = 0; entry < n_thresholds; ++entry) {
        enter(entry == 0 && !missing_left, entry);
        if (wanted < n_thresholds - entry) {
          const double chance = static_cast<double>(wanted) / (n_thresholds - entry);
          if (random.uniform() >= chance) continue;
        }
        if (wanted == 0) return;
        --wanted;
        if (entry + 1 < n_values) {
          candidate(codes_[entry], codes_[entry + 1], missing_left);
        } else if (codes_[entry] + 1 < n_bins) {
          candidate(codes_[entry], codes_[entry] + 1, false);
        } else if (!features_.binned->bins->has_infinity[feature]) {
          candidate(codes_[entry], codes_[entry] + 1, false);
        }
      }
    };
    walk(false, size() - 1);
    if (both_sides && some_missing && n_values > 1) walk(true, n_values - 1);
  }

  // Of the bins that part the same documents (a node's codes need not be neighbours), the one
  // closest to the middle between the two values.
  int32_t centered_bin(const NodeSplit& split, int32_t next) const {
    const Bins& bins = *features_.binned->bins;
    if (next <= split.bin + 1 || bins.is_categorical(split.feature)) return split.bin;
    const float* values = features_.bin_values.of(split.feature);
    const float middle = values[split.bin] + (values[next] - values[split.bin]) / 2;
    int32_t best = split.bin;
    float distance = std::numeric_limits<float>::infinity();
    for (int32_t bin = split.bin; bin < next; ++bin) {
      const float from_middle = std::abs(bins.cut(split.feature, bin) - middle);
      if (from_middle < distance) {
        distance = from_middle;
        best = bin;
      }
    }
    return best;
  }

 private:
  static constexpr int64_t kSortBelow = 24;

  void add_entry(int32_t code, int64_t offset) {
    codes_[size_] = code;
    offsets_[size_++] = offset;
  }

  void sort(const Code* codes, int64_t n) {
    sorted_.resize(static_cast<size_t>(n));
    if (n > kSortBelow) {
      for (int64_t i = 0; i < n; ++i) sorted_[i] = static_cast<uint64_t>(codes[i]) << 32 | i;
      std::sort(sorted_.begin(), sorted_.end());
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t key = static_cast<uint64_t>(codes[i]) << 32 | i;
      int64_t at = i;
      for (; at > 0 && sorted_[at - 1] > key; --at) sorted_[at] = sorted_[at - 1];
      sorted_[at] = key;
    }
  }

  template <typename Sums>
  void sum_sorted(const typename Sums::Item* items, int64_t n, const Sums& sums,
                  std::vector<typename Sums::Cell>& cells) {
    const int64_t stride = sums.stride();
    cells.assign(static_cast<size_t>(n * stride), 0);
    for (int64_t i = 0; i < n; ++i) {
      const auto code = static_cast<int32_t>(sorted_[i] >> 32);
      if (size_ == 0 || codes_[size_ - 1] != code) add_entry(code, size_ * stride);
      sums.add(cells.data() + offsets_[size_ - 1], items[sorted_[i] & 0xffffffffu]);
    }
  }

  template <typename Sums>
  void count(const Code* codes, const typename Sums::Item* items, int64_t n, int32_t low,
             int64_t span, const Sums& sums, std::vector<typename Sums::Cell>& cells) {
    const int64_t stride = sums.stride();
    cells.assign(static_cast<size_t>(span * stride), 0);
    seen_.assign(static_cast<size_t>(span), 0);
    auto* base = cells.data();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t entry = codes[i] - low;
      seen_[entry] = 1;
      sums.add(base + entry * stride, items[i]);
    }
    for (int64_t entry = 0; entry < span; ++entry) {
      if (seen_[entry]) add_entry(low + static_cast<int32_t>(entry), entry * stride);
    }
  }

  const ForestFeatures& features_;
  int32_t size_ = 0;
  std::vector<int32_t> codes_;  // the first size_ count, as of offsets_
  std::vector<int64_t> offsets_;
  std::vector<uint64_t> sorted_;
  std::vector<uint8_t> seen_;
};

}  // namespace rankgrove::forests
