#include "trees/sparse_rows.hpp"

#include <algorithm>
#include <limits>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerEntry = 2.0;
constexpr double kNanosecondsPerRow = 2.0;
constexpr int64_t kPrefetchDistance = 8;

}  // namespace

SparseRows::SparseRows(const BinnedMatrix& binned, const HistogramLayout& layout, int n_threads)
    : layout_(layout), usual_(binned.sparse.usual) {
  if (!binned.has_sparse()) return;
  // A group's entries are numbered in 32 bits.
  constexpr int64_t kMostEntries = std::numeric_limits<uint32_t>::max();
  const std::vector<int64_t>& starts = binned.sparse.starts;
  const int32_t n_features = layout.n_features();
  for (int32_t first = 0; first < n_features;) {
    int32_t last = first + 1;
    while (last < n_features && starts[last + 1] - starts[first] <= kMostEntries &&
           layout.start[last + 1] - layout.start[first] <= kGroupBins) {
      ++last;
    }
    groups_.push_back({first, last, {}, {}});
    first = last;
  }
  const auto n_groups = static_cast<double>(std::max<size_t>(groups_.size(), 1));
  const auto n_entries = static_cast<double>(starts.back());
  const auto n_rows = static_cast<double>(std::max<int64_t>(binned.n_rows, 1));
  nanoseconds_per_row_ = kNanosecondsPerRow + kNanosecondsPerEntry * n_entries / n_rows / n_groups;
  parallel_for(static_cast<int64_t>(groups_.size()), n_threads, nanoseconds_per_row_ * n_rows,
               [&](int64_t g) {
                 if (binned.wide) {
                   fill_group<uint16_t>(binned, groups_[g]);
                 } else {
                   fill_group<uint8_t>(binned, groups_[g]);
                 }
               });
}

// A code for missing values has no bin if the training data had no missing value.
template <typename Code>
void SparseRows::fill_group(const BinnedMatrix& binned, Group& group) const {
  const SparseColumns& sparse = binned.sparse;
  const Code* codes = sparse.codes<Code>();
  const auto for_each = [&](auto&& body) {
    for (int32_t f = group.first_feature; f < group.last_feature; ++f) {
      const int32_t n_codes = layout_.n_bins[f] + layout_.missing[f];
      for (int64_t i = sparse.starts[f]; i < sparse.starts[f + 1]; ++i) {
        if (codes[i] < n_codes) body(sparse.rows[i], layout_.start[f] + codes[i]);
      }
    }
  };
  // Lengths are counted two places ahead, and summed up one ahead: writing moves them into place.
  group.starts.assign(binned.n_rows + 2, 0);
  uint32_t* next = group.starts.data() + 1;
  for_each([&](int32_t row, int32_t) { ++next[row + 1]; });
  for (int64_t row = 0; row < binned.n_rows; ++row) next[row + 1] += next[row];
  group.entries.resize(next[binned.n_rows]);
  for_each(
      [&](int32_t row, int32_t bin) { group.entries[next[row]++] = static_cast<uint32_t>(bin); });
}

// Runs of sparse columns are cleared at once: long fills do not read the memory before.
void SparseRows::clear(const Group& group, int64_t* histogram) const {
  int32_t first = group.first_feature;
  for (int32_t f = first; f <= group.last_feature; ++f) {
    if (f < group.last_feature && usual_[f] >= 0) continue;
    std::fill(histogram + layout_.start[first], histogram + layout_.start[f], 0);
    first = f + 1;
  }
}

void SparseRows::accumulate(const Group& group, const int64_t* words,
                            const PendingHistogram& wanted) {
  const auto& [begin, end, histogram, rows, total] = wanted;
  const uint32_t* entries = group.entries.data();
  const uint32_t* starts = group.starts.data();
  const auto add_row = [&](int64_t row) {
    const int64_t word = words[row];
    for (uint32_t i = starts[row]; i < starts[row + 1]; ++i) histogram[entries[i]] += word;
  };
  if (!rows) {
    for (int64_t row = begin; row < end; ++row) add_row(row);
    return;
  }
  const int64_t near_end = std::max(begin, end - 2 * kPrefetchDistance);
  for (int64_t i = begin; i < near_end; ++i) {
    const int32_t ahead = rows[i + kPrefetchDistance];
    __builtin_prefetch(entries + starts[ahead]);
    __builtin_prefetch(words + ahead);
    __builtin_prefetch(starts + rows[i + 2 * kPrefetchDistance]);
    add_row(rows[i]);
  }
  for (int64_t i = near_end; i < end; ++i) add_row(rows[i]);
}

// Sets the usual bins: the total minus the feature's other bins.
void SparseRows::complete(const Group& group, int64_t total, int64_t* histogram) const {
  for (int32_t f = group.first_feature; f < group.last_feature; ++f) {
    int64_t* bins = histogram + layout_.start[f];
    const int32_t n = layout_.start[f + 1] - layout_.start[f];
    if (usual_[f] < 0 || usual_[f] >= n) continue;
    int64_t others = 0;
    for (int32_t b = 0; b < n; ++b) others += bins[b];
    bins[usual_[f]] = total - others;
  }
}

void SparseRows::build(const int64_t* words, std::span<const PendingHistogram> wanted,
                       int n_threads, double nanoseconds, const Visit& visit) const {
  double work = nanoseconds * layout_.n_features();
  for (const PendingHistogram& one : wanted) {
    work += nanoseconds_per_row() * static_cast<double>(one.end - one.begin) + layout_.size();
  }
  const auto n_groups = static_cast<int64_t>(groups_.size());
  parallel_for(n_groups, n_threads, work / static_cast<double>(n_groups), [&](int64_t g) {
    const Group& group = groups_[g];
    for (const PendingHistogram& one : wanted) {
      clear(group, one.histogram);
      accumulate(group, words, one);
      complete(group, one.total, one.histogram);
    }
    visit(group.first_feature, group.last_feature);
  });
}

}  // namespace rankgrove
