#include "trees/row_store.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kRowBlock = 128;
// Measured: a listed code, a code that is read, a bin of another thread's part that is added.
constexpr double kNanosecondsPerEntry = 0.8;
constexpr double kNanosecondsPerCode = 1.0;
constexpr double kNanosecondsPerBin = 1.0;
constexpr int64_t kPrefetchDistance = 16;
constexpr int kCodes = 8;  // that are read at once
constexpr int64_t kCacheLine = 64;

// Threads divide the features if each gets this many, or, up to kFewRows rows, if four threads do.
constexpr int64_t kFeaturesPerThread = 8;
constexpr int64_t kFewRows = int64_t{1} << 16;
// Number of rows of the data that a tree adds up in the time in which it searches a bin of all
// nodes.
constexpr double kRowsPerBin = 64.0;

// Number of codes that are read before their memory, if it is mapped, is released.
constexpr int64_t kSlab = int64_t{1} << 27;

template <typename Code>
std::vector<int64_t> count_codes(const Code* codes, int64_t n, int32_t n_codes) {
  std::vector<int64_t> counts(n_codes, 0);
  for (int64_t i = 0; i < n; ++i) ++counts[codes[i]];
  return counts;
}

}  // namespace

HistogramLayout::HistogramLayout(const Bins& bins) {
  start.push_back(0);
  for (int32_t f = 0; f < bins.n_features(); ++f) {
    n_bins.push_back(bins.n_bins(f));
    missing.push_back(bins.has_missing[f]);
    const int64_t end = int64_t{start.back()} + n_bins[f] + missing[f];
    if (end > std::numeric_limits<int32_t>::max()) {
      throw std::invalid_argument("the features have more than 2^31 - 1 bins: lower max_bins");
    }
    start.push_back(static_cast<int32_t>(end));
  }
}

RowStore::RowStore(const BinnedMatrix& binned, const HistogramLayout& layout, int n_threads)
    : layout_(layout),
      commonest_(layout.n_features()),
      is_full_(layout.n_features()),
      added_share_(layout.n_features()),
      sparse_(binned, layout, n_threads) {
  choose_commonest(binned, n_threads);
  make_groups(binned, n_threads);
  for (Group& group : groups_) {
    fill_group(binned, group, n_threads);
    nanoseconds_per_row_ += kNanosecondsPerEntry *
                            static_cast<double>(group.entries.size() + group.codes.size()) /
                            static_cast<double>(std::max<int64_t>(binned.n_rows, 1));
  }
}

void RowStore::make_groups(const BinnedMatrix& binned, int n_threads) {
  const int64_t n_shares =
      std::min<int64_t>(n_threads, std::max<int64_t>(1, layout_.n_features() / kFeaturesPerThread));
  const int64_t enough = binned.n_rows <= kFewRows ? std::min(n_threads, 4) : n_threads;
  if (sparse_.empty() && n_shares >= enough) share_features(binned.n_rows, n_shares);
  by_groups_ =
      !groups_.empty() && std::all_of(groups_.begin(), groups_.end(), [&](const Group& group) {
        return group.n_bins <= kGroupBins && std::ssize(group.listed) <= most_listed(binned.n_rows);
      });
  if (!by_groups_) fill_groups_in_turn(binned);
}

// A group's packs are numbered in 32 bits.
int64_t RowStore::most_listed(int64_t n_rows) {
  return std::numeric_limits<uint32_t>::max() / std::max<int64_t>(n_rows, 1) * kPack;
}

// Cuts the features into runs of about the same work: threads seldom write next to each other.
void RowStore::share_features(int64_t n_rows, int64_t n_shares) {
  std::vector<double> work_before{0.0};  // of each feature, and of all
  for (int32_t f = 0; f < layout_.n_features(); ++f) {
    const double of_rows = added_share_[f] * static_cast<double>(n_rows) / kRowsPerBin;
    work_before.push_back(work_before.back() + 1 + layout_.n_bins[f] + of_rows);
  }
  groups_.resize(n_shares);
  for (int32_t f = 0; f < layout_.n_features(); ++f) {
    const double place = work_before[f] / work_before.back();  // below 1
    const auto share = static_cast<int64_t>(place * static_cast<double>(n_shares));
    groups_[share].add(f, layout_.start[f + 1] - layout_.start[f], is_full_[f]);
  }
  std::erase_if(groups_, [](const Group& group) { return group.n_bins == 0; });
}

void RowStore::fill_groups_in_turn(const BinnedMatrix& binned) {
  groups_.clear();
  const int64_t most_features = most_listed(binned.n_rows);
  int64_t n_grouped = 0;  // features of the last group
  for (int32_t f = 0; f < layout_.n_features(); ++f) {
    if (binned.is_sparse(f)) continue;
    const int32_t n_bins = layout_.start[f + 1] - layout_.start[f];
    if (groups_.empty() || n_grouped >= most_features ||
        groups_.back().n_bins + n_bins > kGroupBins) {
      groups_.emplace_back();
      n_grouped = 0;
    }
    groups_.back().add(f, n_bins, is_full_[f]);
    ++n_grouped;
  }
}

// Finds each feature's most common code, and whether it is full. A code for missing values has no
// bin if the training data had no missing value: such a feature can only be listed.
void RowStore::choose_commonest(const BinnedMatrix& binned, int n_threads) {
  const int64_t n_rows = binned.n_rows;
  const bool few = n_rows * layout_.n_features() <= kFewCodes;
  const double full_share = few ? kFullShareOfFew : kFullShare;
  parallel_for(layout_.n_features(), n_threads, kNanosecondsPerCode * n_rows, [&](int64_t i) {
    const auto f = static_cast<int32_t>(i);
    if (binned.is_sparse(f)) return;
    const int32_t n_codes = binned.n_bins(f) + 1;
    const std::vector<int64_t> counts =
        binned.wide ? count_codes(binned.column<uint16_t>(f), n_rows, n_codes)
                    : count_codes(binned.column<uint8_t>(f), n_rows, n_codes);
    const auto commonest = std::max_element(counts.begin(), counts.end());
    commonest_[f] = static_cast<int32_t>(commonest - counts.begin());
    const bool has_bins = layout_.missing[f] || counts.back() == 0;
    const double rest = static_cast<double>(n_rows - *commonest);
    is_full_[f] = !binned.wide && has_bins && rest > full_share * static_cast<double>(n_rows);
    added_share_[f] = is_full_[f] ? 1.0 : rest / static_cast<double>(std::max<int64_t>(n_rows, 1));
    if (binned.mapped()) {
      const auto* codes = binned.column<uint8_t>(0) + i * n_rows * (binned.wide ? 2 : 1);
      release_pages(codes, codes + n_rows * (binned.wide ? 2 : 1));
    }
  });
}

// A code is listed unless it is its feature's commonest one, or stands for a missing value where
// the training data had none (such a value has no bin).

// Leaves each row's number of packs at packs[row + 1].
template <typename Code>
void RowStore::count_rows(const BinnedMatrix& binned, Group& group, int64_t begin,
                          int64_t end) const {
  uint32_t lengths[kRowBlock] = {};
  for (const int32_t f : group.listed) {
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

// Writes the rows' entries. Each code is written behind the entries of its row in a small table,
// whose length grows only if the code is to be listed; then the rows of the table are copied to
// their places.
template <typename Code>
void RowStore::list_rows(const BinnedMatrix& binned, Group& group, int64_t begin,
                         int64_t end) const {
  const auto width = static_cast<int64_t>(group.listed.size()) + kPack;
  std::vector<uint16_t> table(kRowBlock * width);
  uint32_t lengths[kRowBlock] = {};
  for (size_t j = 0; j < group.listed.size(); ++j) {
    const int32_t f = group.listed[j];
    const Code* codes = binned.column<Code>(f) + begin;
    const int32_t skipped = commonest_[f];
    const int32_t n_codes = layout_.n_bins[f] + layout_.missing[f];
    const int32_t base = group.listed_start[j];
    for (int64_t i = 0; i < end - begin; ++i) {
      table[i * width + lengths[i]] = static_cast<uint16_t>(base + codes[i]);
      lengths[i] += (codes[i] != skipped) & (codes[i] < n_codes);
    }
  }
  for (int64_t i = 0; i < end - begin; ++i) {
    uint16_t* row = table.data() + i * width;
    std::fill_n(row + lengths[i], kPack - 1, static_cast<uint16_t>(group.listed_start.back()));
    const int64_t first = static_cast<int64_t>(group.packs[begin + i]) * kPack;
    const int64_t last = static_cast<int64_t>(group.packs[begin + i + 1]) * kPack;
    std::copy_n(row, last - first, group.entries.data() + first);
  }
}

void RowStore::copy_rows(const BinnedMatrix& binned, Group& group, int64_t begin,
                         int64_t end) const {
  const auto width = static_cast<int64_t>(group.full.size());
  for (int64_t j = 0; j < width; ++j) {
    const uint8_t* codes = binned.column<uint8_t>(group.full[j]);
    uint8_t* target = group.codes.data() + j;
    for (int64_t i = begin; i < end; ++i) target[i * width] = codes[i];
  }
}

void RowStore::fill_group(const BinnedMatrix& binned, Group& group, int n_threads) {
  const int64_t n_rows = binned.n_rows;
  const auto n_features = static_cast<int64_t>(group.full.size() + group.listed.size());
  const int64_t slab = binned.mapped() ? kSlab / n_features / kRowBlock * kRowBlock + kRowBlock
                                       : std::max<int64_t>(n_rows, 1);
  const auto for_each_block = [&](auto&& body) {
    const double cost = kNanosecondsPerCode * kRowBlock * n_features;
    for (int64_t first = 0; first < n_rows; first += slab) {
      const int64_t last = std::min(n_rows, first + slab);
      parallel_for((last - first + kRowBlock - 1) / kRowBlock, n_threads, cost, [&](int64_t block) {
        const int64_t begin = first + block * kRowBlock;
        body(begin, std::min(last, begin + kRowBlock));
      });
      binned.release(first, last);
    }
  };
  group.codes = Table<uint8_t>(static_cast<size_t>(n_rows) * group.full.size(), binned.folder);
  if (!group.listed.empty()) {
    group.packs = Table<uint32_t>(static_cast<size_t>(n_rows) + 1, binned.folder);
    group.packs[0] = 0;
    for_each_block([&](int64_t begin, int64_t end) {
      if (binned.wide) {
        count_rows<uint16_t>(binned, group, begin, end);
      } else {
        count_rows<uint8_t>(binned, group, begin, end);
      }
    });
    for (int64_t row = 0; row < n_rows; ++row) group.packs[row + 1] += group.packs[row];
    group.entries =
        Table<uint16_t>(static_cast<size_t>(group.packs[n_rows]) * kPack, binned.folder);
  }
  for_each_block([&](int64_t begin, int64_t end) {
    if (binned.wide) {
      list_rows<uint16_t>(binned, group, begin, end);
      return;
    }
    if (!group.listed.empty()) list_rows<uint8_t>(binned, group, begin, end);
    copy_rows(binned, group, begin, end);
  });
}

int64_t RowStore::accumulate(const Group& group, const int64_t* words, const int32_t* rows,
                             int64_t begin, int64_t end, int64_t* sums) const {
  if (group.entries.empty()) return accumulate_rows<false>(group, words, rows, begin, end, sums);
  const int64_t total = accumulate_rows<true>(group, words, rows, begin, end, sums);
  sums[group.n_words() - 1] = 0;  // of no feature
  return total;
}

template <bool kListed>
int64_t RowStore::accumulate_rows(const Group& group, const int64_t* words, const int32_t* rows,
                                  int64_t begin, int64_t end, int64_t* sums) const {
  const auto width = static_cast<int64_t>(group.full.size());
  const uint8_t* codes = group.codes.data();
  int64_t* listed_sums = sums + group.full_words();
  const uint16_t* entries = group.entries.data();
  const uint32_t* packs = group.packs.data();
  int64_t total = 0;
  const auto add_row = [&](int64_t row) {
    const int64_t word = words[row];
    total += word;
    const uint8_t* code = codes + row * width;
    const uint8_t* last_code = code + width;
    int64_t* sum = sums;
    for (; code + kCodes <= last_code; code += kCodes, sum += kCodes * kFullWords) {
      uint64_t eight;
      std::memcpy(&eight, code, sizeof eight);
      for (int j = 0; j < kCodes; ++j) sum[j * kFullWords + ((eight >> (8 * j)) & 255)] += word;
    }
    for (; code != last_code; ++code, sum += kFullWords) sum[*code] += word;
    if constexpr (!kListed) return;
    const uint16_t* entry = entries + static_cast<int64_t>(packs[row]) * kPack;
    const uint16_t* last = entries + static_cast<int64_t>(packs[row + 1]) * kPack;
    for (; entry != last; entry += kPack) {
      uint64_t four;
      std::memcpy(&four, entry, sizeof four);
      for (int j = 0; j < kPack; ++j) listed_sums[(four >> (16 * j)) & 65535] += word;
    }
  };
  if (!rows) {
    for (int64_t row = begin; row < end; ++row) add_row(row);
    return total;
  }
  const int64_t near_end = std::max(begin, end - 2 * kPrefetchDistance);
  const int64_t last_code = std::max<int64_t>(width - 1, 0);  // without full features, no codes
  for (int64_t i = begin; i < near_end; ++i) {
    const int32_t ahead = rows[i + kPrefetchDistance];
    const uint8_t* next_codes = codes + ahead * width;
    for (int64_t j = 0; j < width; j += kCacheLine) __builtin_prefetch(next_codes + j);
    __builtin_prefetch(next_codes + last_code);
    if constexpr (kListed) {
      const uint16_t* next = entries + static_cast<int64_t>(packs[ahead]) * kPack;
      __builtin_prefetch(next);
      __builtin_prefetch(next + 32);
      __builtin_prefetch(packs + rows[i + 2 * kPrefetchDistance]);
    }
    __builtin_prefetch(words + ahead);
    add_row(rows[i]);
  }
  for (int64_t i = near_end; i < end; ++i) add_row(rows[i]);
  return total;
}

// Moves the sums of one feature of a group, which are at `offset` in all parts, to its bins, and
// leaves zeros. The omitted bin of a listed feature is the node's total minus the other bins.
int32_t RowStore::take_out(const Group& group, int64_t number,
                           std::span<std::vector<int64_t>> parts, int64_t offset, int64_t total,
                           int64_t* histogram) const {
  const int64_t n_full = std::ssize(group.full);
  const bool is_full = number < n_full;
  const int32_t f = is_full ? group.full[number] : group.listed[number - n_full];
  offset +=
      is_full ? number * kFullWords : group.full_words() + group.listed_start[number - n_full];
  const std::span bins(histogram + layout_.start[f], layout_.start[f + 1] - layout_.start[f]);
  for (std::vector<int64_t>& part : parts) {
    int64_t* sums = part.data() + offset;
    if (&part == &parts.front()) {
      std::copy_n(sums, bins.size(), bins.begin());
    } else {
      for (size_t b = 0; b < bins.size(); ++b) bins[b] += sums[b];
    }
    std::fill_n(sums, bins.size(), 0);
  }
  const auto skipped = static_cast<size_t>(commonest_[f]);
  if (!is_full && skipped < bins.size()) {
    const int64_t all = std::accumulate(bins.begin(), bins.end(), int64_t{0});
    bins[skipped] = total - (all - bins[skipped]);
  }
  return f;
}

int64_t RowStore::add_up(int64_t group, const int64_t* words, const int32_t* rows, int64_t begin,
                         int64_t end, std::vector<int64_t>& sums) const {
  sums.resize(groups_[group].n_words(), 0);
  return accumulate(groups_[group], words, rows, begin, end, sums.data());
}

int32_t RowStore::take_feature(int64_t group, int64_t number, int64_t total,
                               std::vector<int64_t>& sums, int64_t* histogram) const {
  return take_out(groups_[group], number, {&sums, 1}, 0, total, histogram);
}

void RowStore::build(const int64_t* words, const int32_t* rows, int64_t begin, int64_t end,
                     int n_threads, std::vector<std::vector<int64_t>>& scratch,
                     int64_t* histogram) const {
  PendingHistogram wanted{begin, end, histogram, rows};
  build(words, {&wanted, 1}, n_threads, scratch, 0.0, [](int32_t, int32_t) {});
}

void RowStore::build(const int64_t* words, std::span<PendingHistogram> wanted, int n_threads,
                     std::vector<std::vector<int64_t>>& scratch, double nanoseconds,
                     const SparseRows::Visit& visit) const {
  for (PendingHistogram& one : wanted) one.total = build_dense(words, one, n_threads, scratch);
  if (has_sparse()) sparse_.build(words, wanted, n_threads, nanoseconds, visit);
}

// Writes the bins of dense columns.
int64_t RowStore::build_dense(const int64_t* words, const PendingHistogram& wanted, int n_threads,
                              std::vector<std::vector<int64_t>>& scratch) const {
  const int32_t* rows = wanted.rows;
  const int64_t begin = wanted.begin;
  const int64_t n_rows = wanted.end - begin;
  int64_t part_size = 0;
  for (const Group& group : groups_) part_size += group.n_words();
  // Parts after the first must also pay for their histograms.
  const double work = static_cast<double>(n_rows) * nanoseconds_per_row_;
  const double own_work = kNanosecondsPerBin * static_cast<double>(part_size);
  const double paid = paid_threads(n_threads, work * kWorkPerThread / (kWorkPerThread + own_work));
  const auto n_parts = static_cast<int>(std::min(paid, 1.0 + work / std::max(own_work, 1.0)));
  // If a thread ends early, the parts are not all zero, and are dropped.
  std::vector<std::vector<int64_t>> all_parts = std::exchange(scratch, {});
  if (std::ssize(all_parts) < n_parts) all_parts.resize(n_parts);
  const std::span parts(all_parts.data(), n_parts);
  std::vector<int64_t> totals(n_parts, 0);
  parallel_for(n_parts, n_parts, work / n_parts + own_work, [&](int64_t part) {
    const int64_t part_begin = begin + n_rows * part / n_parts;
    const int64_t part_end = begin + n_rows * (part + 1) / n_parts;
    parts[part].resize(part_size, 0);
    int64_t* sums = parts[part].data();
    for (const Group& group : groups_) {
      totals[part] = accumulate(group, words, rows, part_begin, part_end, sums);
      sums += group.n_words();
    }
    if (!groups_.empty()) return;
    for (int64_t i = part_begin; i < part_end; ++i) totals[part] += words[rows ? rows[i] : i];
  });
  const int64_t total = std::accumulate(totals.begin(), totals.end(), int64_t{0});
  int64_t offset = 0;
  for (const Group& group : groups_) {
    const int64_t n = n_features(&group - groups_.data());
    const double cost = kNanosecondsPerBin * group.n_bins * n_parts / static_cast<double>(n);
    parallel_for(n, n_threads, cost,
                 [&](int64_t j) { take_out(group, j, parts, offset, total, wanted.histogram); });
    offset += group.n_words();
  }
  scratch = std::move(all_parts);
  return total;
}

}  // namespace rankgrove
