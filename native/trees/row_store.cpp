#include "trees/row_store.hpp"

#include <algorithm>
#include <limits>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kRowBlock = 128;
// Measured: a listed or a looked at code, a bin that another thread's part adds.
constexpr double kNanosecondsPerEntry = 0.8;
constexpr double kNanosecondsPerCode = 1.0;
constexpr double kNanosecondsPerBin = 1.0;
constexpr int64_t kPrefetchDistance = 8;

template <typename Code>
int32_t commonest_code(const Code* codes, int64_t n, int32_t n_codes) {
  std::vector<int64_t> counts(n_codes, 0);
  for (int64_t i = 0; i < n; ++i) ++counts[codes[i]];
  return static_cast<int32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

}  // namespace

HistogramLayout::HistogramLayout(const Bins& bins) {
  start.push_back(0);
  for (int32_t f = 0; f < bins.n_features(); ++f) {
    n_bins.push_back(bins.n_bins(f));
    missing.push_back(bins.has_missing[f]);
    start.push_back(start.back() + n_bins[f] + missing[f]);
  }
}

RowStore::RowStore(const BinnedMatrix& binned, const HistogramLayout& layout, int n_threads)
    : layout_(layout), commonest_(layout.n_features()) {
  const int32_t n_features = layout_.n_features();
  parallel_for(n_features, n_threads, kNanosecondsPerCode * binned.n_rows, [&](int64_t f) {
    const auto feature = static_cast<int32_t>(f);
    const int32_t n_codes = binned.n_bins(feature) + 1;
    commonest_[f] = binned.wide
                        ? commonest_code(binned.column<uint16_t>(feature), binned.n_rows, n_codes)
                        : commonest_code(binned.column<uint8_t>(feature), binned.n_rows, n_codes);
  });
  // A group's packs are numbered in 32 bits.
  constexpr int64_t kMostPacks = std::numeric_limits<uint32_t>::max();
  const int64_t most_features = kMostPacks / std::max<int64_t>(binned.n_rows, 1) * kPack;
  for (int32_t first = 0; first < n_features;) {
    int32_t last = first + 1;
    while (last < n_features && last - first < most_features &&
           layout_.start[last + 1] - layout_.start[first] <= kGroupBins)
      ++last;
    groups_.push_back(
        {first, last, layout_.start[first], layout_.start[last] - layout_.start[first], {}, {}});
    first = last;
  }
  for (Group& group : groups_) {
    fill_group(binned, group, n_threads);
    nanoseconds_per_row_ += kNanosecondsPerEntry * static_cast<double>(group.entries.size()) /
                            static_cast<double>(std::max<int64_t>(binned.n_rows, 1));
  }
}

// A code is listed unless it is its feature's commonest one, or stands for a missing value where
// the training data had none (such a value has no bin).

// Leaves each row's number of packs at packs[row + 1].
template <typename Code>
void RowStore::count_rows(const BinnedMatrix& binned, Group& group, int64_t begin,
                          int64_t end) const {
  uint32_t lengths[kRowBlock] = {};
  for (int32_t f = group.first_feature; f < group.last_feature; ++f) {
    const Code* codes = binned.column<Code>(f) + begin;
    const int32_t skipped = commonest_[f];
    const int32_t n_codes = layout_.n_bins[f] + layout_.missing[f];
    for (int64_t i = 0; i < end - begin; ++i) {
      lengths[i] += (codes[i] != skipped) & (codes[i] < n_codes);
    }
  }
  for (int64_t i = 0; i < end - begin; ++i) {
    group.packs[begin + i + 1] = (lengths[i] + kPack - 1) / kPack;
  }
}

// Writes the rows' entries: every code to its row's end in a small table, which then grows only if
// the code is to be listed, and the table's rows to where they belong.
template <typename Code>
void RowStore::fill_rows(const BinnedMatrix& binned, Group& group, int64_t begin,
                         int64_t end) const {
  const int64_t width = group.last_feature - group.first_feature + kPack;
  std::vector<uint16_t> table(kRowBlock * width);
  uint32_t lengths[kRowBlock] = {};
  for (int32_t f = group.first_feature; f < group.last_feature; ++f) {
    const Code* codes = binned.column<Code>(f) + begin;
    const int32_t skipped = commonest_[f];
    const int32_t n_codes = layout_.n_bins[f] + layout_.missing[f];
    const int32_t base = layout_.start[f] - group.first_bin;
    for (int64_t i = 0; i < end - begin; ++i) {
      table[i * width + lengths[i]] = static_cast<uint16_t>(base + codes[i]);
      lengths[i] += (codes[i] != skipped) & (codes[i] < n_codes);
    }
  }
  for (int64_t i = 0; i < end - begin; ++i) {
    uint16_t* row = table.data() + i * width;
    std::fill_n(row + lengths[i], kPack - 1, static_cast<uint16_t>(group.n_bins));
    const int64_t first = static_cast<int64_t>(group.packs[begin + i]) * kPack;
    const int64_t last = static_cast<int64_t>(group.packs[begin + i + 1]) * kPack;
    std::copy_n(row, last - first, group.entries.begin() + first);
  }
}

void RowStore::fill_group(const BinnedMatrix& binned, Group& group, int n_threads) {
  const int64_t n_rows = binned.n_rows;
  const auto for_each_block = [&](auto&& body) {
    const double cost =
        kNanosecondsPerCode * kRowBlock * (group.last_feature - group.first_feature);
    parallel_for((n_rows + kRowBlock - 1) / kRowBlock, n_threads, cost, [&](int64_t block) {
      body(block * kRowBlock, std::min(n_rows, (block + 1) * kRowBlock));
    });
  };
  group.packs.assign(n_rows + 1, 0);
  for_each_block([&](int64_t begin, int64_t end) {
    if (binned.wide) {
      count_rows<uint16_t>(binned, group, begin, end);
    } else {
      count_rows<uint8_t>(binned, group, begin, end);
    }
  });
  for (int64_t row = 0; row < n_rows; ++row) group.packs[row + 1] += group.packs[row];
  group.entries.resize(static_cast<int64_t>(group.packs[n_rows]) * kPack);
  for_each_block([&](int64_t begin, int64_t end) {
    if (binned.wide) {
      fill_rows<uint16_t>(binned, group, begin, end);
    } else {
      fill_rows<uint8_t>(binned, group, begin, end);
    }
  });
}

void RowStore::accumulate(const Group& group, const int64_t* words, const int32_t* rows,
                          int64_t begin, int64_t end, int64_t* histogram) const {
  const uint16_t* entries = group.entries.data();
  const uint32_t* packs = group.packs.data();
  const auto add_row = [&](int64_t row) {
    const int64_t word = words[row];
    const uint16_t* entry = entries + static_cast<int64_t>(packs[row]) * kPack;
    const uint16_t* last = entries + static_cast<int64_t>(packs[row + 1]) * kPack;
    for (; entry != last; entry += kPack) {
      histogram[entry[0]] += word;
      histogram[entry[1]] += word;
      histogram[entry[2]] += word;
      histogram[entry[3]] += word;
    }
  };
  if (!rows) {
    for (int64_t row = begin; row < end; ++row) add_row(row);
    return;
  }
  const int64_t near_end = std::max(begin, end - 2 * kPrefetchDistance);
  for (int64_t i = begin; i < near_end; ++i) {
    const int32_t ahead = rows[i + kPrefetchDistance];
    const uint16_t* next = entries + static_cast<int64_t>(packs[ahead]) * kPack;
    __builtin_prefetch(next);
    __builtin_prefetch(next + 32);
    __builtin_prefetch(next + 64);
    __builtin_prefetch(words + ahead);
    __builtin_prefetch(packs + rows[i + 2 * kPrefetchDistance]);
    add_row(rows[i]);
  }
  for (int64_t i = near_end; i < end; ++i) add_row(rows[i]);
}

// Recovers the bins that were left out: what the node's total has beyond the feature's other bins.
void RowStore::complete(int64_t total, int32_t first_feature, int32_t last_feature,
                        int64_t* histogram) const {
  for (int32_t f = first_feature; f < last_feature; ++f) {
    int64_t* bins = histogram + layout_.start[f];
    const int32_t n = layout_.start[f + 1] - layout_.start[f];
    const int32_t skipped = commonest_[f];
    if (skipped >= n) continue;
    int64_t others = 0;
    for (int32_t b = 0; b < n; ++b) others += bins[b];
    bins[skipped] = total - (others - bins[skipped]);
  }
}

void RowStore::build(const int64_t* words, const int32_t* rows, int64_t begin, int64_t end,
                     int n_threads, std::vector<std::vector<int64_t>>& scratch,
                     int64_t* histogram) const {
  const int64_t n = end - begin;
  // A part must also pay for its own histogram.
  const double work = static_cast<double>(n) * nanoseconds_per_row_;
  const double own_work = kNanosecondsPerBin * layout_.size();
  const int n_parts = paid_threads(n_threads, work * kWorkPerThread / (kWorkPerThread + own_work));
  // Each part has room for one bin of no feature behind every group.
  const size_t part_size = layout_.size() + groups_.size();
  if (scratch.size() < static_cast<size_t>(n_parts)) scratch.resize(n_parts);
  std::vector<int64_t> totals(n_parts, 0);
  parallel_for(n_parts, n_parts, work / n_parts + own_work, [&](int64_t part) {
    const int64_t part_begin = begin + n * part / n_parts;
    const int64_t part_end = begin + n * (part + 1) / n_parts;
    scratch[part].assign(part_size, 0);
    for (size_t g = 0; g < groups_.size(); ++g) {
      accumulate(groups_[g], words, rows, part_begin, part_end,
                 scratch[part].data() + groups_[g].first_bin + g);
    }
    for (int64_t i = part_begin; i < part_end; ++i) totals[part] += words[rows ? rows[i] : i];
  });
  int64_t total = 0;
  for (const int64_t part_total : totals) total += part_total;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    int64_t* target = histogram + group.first_bin;
    std::copy_n(scratch[0].data() + group.first_bin + g, group.n_bins, target);
    for (int part = 1; part < n_parts; ++part) {
      const int64_t* source = scratch[part].data() + group.first_bin + g;
      for (int32_t b = 0; b < group.n_bins; ++b) target[b] += source[b];
    }
    complete(total, group.first_feature, group.last_feature, histogram);
  }
}

}  // namespace rankgrove
