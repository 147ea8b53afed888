// Sums of documents in one 64-bit word, so that a document is one integer addition:
//
//   PackedCounts<C>   number of documents of each of C classes, 64 / C bits each: for small nodes
//   PackedTargets     number of documents, and sum of their targets, where targets are classes
//                     whose values are small whole numbers
//   PackedReals       the same for any targets, as whole multiples of a small step: for nodes of up
//                     to 65,535 documents
//
// They have the interface of the sums of class_counts.hpp. The last two count a row as many times
// as it was drawn.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "forests/criteria/feature_lanes.hpp"
#include "forests/criteria/packed_scores.hpp"
#include "forests/data/forest_targets.hpp"
#include "forests/nodes/byte_codes.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

struct PackedWord {
  using Cell = uint64_t;
  using Item = uint64_t;
  static constexpr bool kOfClassCounts = true;  // which determine the sums

  static constexpr int32_t stride() { return 1; }
  void add(Cell* cell, Item item) const { *cell += item; }
  template <typename Code>
  static void add_left_items(const Item* items, const Code* codes, int64_t n,
                             const NodeSplit& split, int32_t missing_bin, Cell* cell) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += items[i] & -static_cast<uint64_t>(split.goes_left(codes[i], missing_bin));
    }
    *cell += sum;
  }
};

template <int C>
struct PackedCounts : PackedWord {
  static constexpr int kBits = 64 / C;
  static constexpr int64_t kMostDocuments = (int64_t{1} << kBits) - 1;

  explicit PackedCounts(const ForestTargets&) {}

  static constexpr int32_t n_classes() { return C; }
  Item item(const NodeRows& documents, int64_t i) const {
    return uint64_t{1} << (documents.labels[i] * kBits);
  }
  template <typename Items>
  void add_all(const NodeRows& documents, Items&&, Cell* cell) const {
    for (int32_t c = 0; c < C; ++c) {
      *cell += static_cast<uint64_t>(documents.class_counts[c]) << (c * kBits);
    }
  }
  template <typename Code, typename Items>
  void add_left(const NodeRows& documents, Items&& items, const Code* codes, const NodeSplit& split,
                int32_t missing_bin, Cell* cell) const {
    add_left_items(items(), codes, documents.n, split, missing_bin, cell);
  }
  static uint32_t count(const Cell* cell, int32_t c) {
    return static_cast<uint32_t>(*cell >> (c * kBits)) & static_cast<uint32_t>(kMostDocuments);
  }
  int64_t n_docs(const Cell* cell) const {
    int64_t sum = 0;
    for (int32_t c = 0; c < C; ++c) sum += count(cell, c);
    return sum;
  }
  double weight(const Cell* cell) const { return static_cast<double>(n_docs(cell)); }
};

struct PackedTargets : PackedWord {
  static constexpr int kBits = 36;  // of the sum; the rest counts
  static constexpr uint64_t kSumMask = (uint64_t{1} << kBits) - 1;

  explicit PackedTargets(const ForestTargets& targets) : n_classes(targets.n_classes()) {
    for (const double value : targets.class_value) {
      labels_are_targets &= value == static_cast<double>(word.size());
      word.push_back(uint64_t{1} << kBits | static_cast<uint64_t>(value));
    }
  }

  // Whether the sums of this many documents fit.
  static bool fits(const ForestTargets& targets, int64_t most_documents) {
    if (!targets.has_classes() || most_documents >= int64_t{1} << (64 - kBits)) return false;
    for (const double value : targets.class_value) {
      if (!(value >= 0 && value <= 255 && value == std::floor(value))) return false;
    }
    return true;
  }

  Item item(const NodeRows& documents, int64_t i) const {
    return documents.times_of(i) * word[documents.labels[i]];
  }
  double squares(const NodeRows& documents) const {
    double sum = 0;
    for (int32_t c = 0; c < n_classes; ++c) {
      const auto value = static_cast<double>(word[c] & kSumMask);
      sum += documents.class_counts[c] * (value * value);
    }
    return sum;
  }
  template <typename Items>
  void add_all(const NodeRows& documents, Items&&, Cell* cell) const {
    for (int32_t c = 0; c < n_classes; ++c) *cell += documents.class_counts[c] * word[c];
  }
  template <typename Code, typename Items>
  void add_left(const NodeRows& documents, Items&& items, const Code* codes, const NodeSplit& split,
                int32_t missing_bin, Cell* cell) const {
    if constexpr (sizeof(Code) == 1) {
      if (labels_are_targets && documents.n >= kByteVector && !documents.times &&
          !split.missing_left) {
        const auto left =
            left_documents(codes, documents.labels, documents.n, static_cast<uint8_t>(split.bin));
        *cell += left.count << kBits | left.labels;
        return;
      }
    }
    add_left_items(items(), codes, documents.n, split, missing_bin, cell);
  }
  // The terms of the documents in sums of several features at once, if they are small enough;
  // targets count from `least`.
  bool lane_items(const NodeRows& documents, std::vector<uint8_t>& items, uint64_t& least) const {
    least = kSumMask;
    for (int32_t c = 0; c < n_classes; ++c) {
      if (documents.class_counts[c] > 0) least = std::min(least, word[c] & kSumMask);
    }
    items.resize(static_cast<size_t>(documents.n));
    for (int64_t i = 0; i < documents.n; ++i) {
      const uint64_t times = documents.times_of(i);
      const uint64_t sum = times * ((word[documents.labels[i]] & kSumMask) - least);
      if (times > FeatureLanes::kMostTimes || sum > FeatureLanes::kMostSum) return false;
      items[i] = FeatureLanes::item(static_cast<uint32_t>(times), static_cast<uint32_t>(sum));
    }
    return true;
  }
  Cell packed(uint64_t n_documents, uint64_t sum) const { return n_documents << kBits | sum; }
  PackedFields fields() const { return {kBits, 1.0}; }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(*cell >> kBits); }
  double weight(const Cell* cell) const { return static_cast<double>(n_docs(cell)); }
  double sum(const Cell* cell) const {
    return static_cast<double>(static_cast<int64_t>(*cell & kSumMask));
  }

  int32_t n_classes;
  std::vector<uint64_t> word;      // of a document of each class
  bool labels_are_targets = true;  // class c has target c
};

// Targets count from the smallest of the node, which changes no gain, in steps of at most 2^-32 of
// the range of the node's targets: every sum is exact, in any order.
struct PackedReals : PackedWord {
  static constexpr bool kOfClassCounts = false;
  static constexpr int64_t kMostDocuments = 65535;

  explicit PackedReals(const ForestTargets& targets) : target(targets.target.data()) {}

  // Chooses the step: called before anything else is asked about a node.
  template <typename Items>
  void add_all(const NodeRows& documents, Items&& items, Cell* cell) {
    low = target[documents.rows[0]];
    double high = low;
    for (int64_t i = 1; i < documents.n; ++i) {
      low = std::min(low, target[documents.rows[i]]);
      high = std::max(high, target[documents.rows[i]]);
    }
    start(low, high, documents.n_documents);
    const Item* item = items();
    unsigned __int128 squares = 0;  // at most 2^(2 target_bits + count_bits)
    for (int64_t i = 0; i < documents.n; ++i) {
      const uint64_t steps = steps_of(target[documents.rows[i]]);
      squares += static_cast<unsigned __int128>(steps) * steps * documents.times_of(i);
      *cell += item[i];
    }
    squared_steps = static_cast<double>(squares);
  }
  // The step of a node with this many documents, whose targets lie between low and high.
  void start(double lowest, double highest, int64_t n_documents) {
    const int count_bits = std::bit_width(static_cast<uint64_t>(n_documents));
    const int target_bits = std::min(52, 64 - 2 * count_bits);
    sum_bits = 64 - count_bits;
    low = lowest;
    step = (highest - lowest) / static_cast<double>((uint64_t{1} << target_bits) - 1);
    per_step = step > 0 && std::isfinite(1 / step) ? 1 / step : 0;
  }
  uint64_t steps_of(double value) const {
    return static_cast<uint64_t>(static_cast<int64_t>((value - low) * per_step + 0.5));
  }

  template <typename Code, typename Items>
  void add_left(const NodeRows& documents, Items&& items, const Code* codes, const NodeSplit& split,
                int32_t missing_bin, Cell* cell) const {
    add_left_items(items(), codes, documents.n, split, missing_bin, cell);
  }

  Item item(const NodeRows& documents, int64_t i) const {
    return documents.times_of(i) * (uint64_t{1} << sum_bits | steps_of(target[documents.rows[i]]));
  }
  double squares(const NodeRows&) const { return squares_of_steps(squared_steps); }
  double squares_of_steps(double sum_of_squares) const { return step * step * sum_of_squares; }
  double step_size() const { return step; }
  PackedFields fields() const { return {sum_bits, step}; }
  int64_t n_docs(const Cell* cell) const { return static_cast<int64_t>(*cell >> sum_bits); }
  double weight(const Cell* cell) const { return static_cast<double>(n_docs(cell)); }
  double sum(const Cell* cell) const { return step * sum_of_steps(*cell); }

 private:
  // Fits a signed number, which is quicker to convert.
  double sum_of_steps(Cell cell) const {
    return static_cast<double>(static_cast<int64_t>(cell & ((uint64_t{1} << sum_bits) - 1)));
  }

  const double* target;
  double low = 0, step = 0, per_step = 0;  // of the node at hand
  double squared_steps = 0;
  int sum_bits = 63;
};

}  // namespace rankgrove::forests
