// For each query of a tree's sample: the leaves of the growing tree in which it has documents.
//
// Vocabulary: a *block* is a set of documents of one query that share their score, and so their
// ranks: leaves of equal score form one block. A block of n documents that starts after `start`
// better ones adds  mean gain * (D[start + n] - D[start])  to the query's metric, where D is the
// running sum of the discounts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/large_pages.hpp"
#include "common/simd.hpp"
#include "forests/data/forest_targets.hpp"
#include "forests/listwise/score_positions.hpp"

namespace rankgrove::forests {

struct Block {
  double gain_sum;
  double gain_mean;
  int32_t start;
  int32_t count;

  int32_t end() const { return start + count; }
};

// Some documents of one query: their number and the sum of their gains.
struct Subset {
  int32_t count = 0;
  double gain = 0;

  void add(double document_gain) {
    ++count;
    gain += document_gain;
  }
};

// The blocks of one query, best score first, and what single documents that pass them need.
template <typename Number, typename OfBlock>
struct ColumnsOf {
  int32_t size;
  Number* score;
  OfBlock* block;
  // Discounts of the first and of the last rank of each block.
  Number* first_discount;
  Number* last_discount;
  // The change of the metric if all blocks before this one move one rank down, and if all blocks up
  // to this one, included, move one rank up; times the query's scale.
  Number* moved_down;
  Number* moved_up;

  // Number of the first block whose score is not above this one.
  int32_t find(double wanted) const { return find_score(score, size, wanted); }
};

using BlockColumns = ColumnsOf<const double, const Block>;

class LeafTable {
 public:
  LeafTable(const std::vector<int64_t>& offsets, const ListwiseMetric& metric)
      : offsets_(offsets),
        metric_(metric),
        blocks_(static_cast<size_t>(offsets.back())),
        numbers_(kNumbers * blocks_.size()),
        sizes_(offsets.size() - 1, 0) {}

  Subset subset(const int32_t* rows, int64_t n) const {
    Subset subset;
    for (int64_t i = 0; i < n; ++i) subset.add(metric_.gain[rows[i]]);
    return subset;
  }

  // Puts all given documents of a query into one block.
  void start_query(int32_t query, double score, const Subset& all) {
    sizes_[query] = 1;
    set(own(query), 0, score, all);
    renew(query, 0);
  }

  BlockColumns columns(int32_t query) const {
    return columns<const double, const Block>(query, numbers_.data(), blocks_.data());
  }

  // Prefetches the scores of a query's blocks. (Always inline: the compiler would remove a call
  // that only prefetches.)
  RANKGROVE_INLINE void prefetch_scores(int32_t query) const {
    const BlockColumns all = columns(query);
    for (int32_t i = 0; i < all.size; i += kPerLine) __builtin_prefetch(all.score + i);
  }

  // Prefetches the data for documents of a score; the scores should be in the cache.
  RANKGROVE_INLINE void prefetch(int32_t query, double score) const {
    const BlockColumns all = columns(query);
    const int32_t own = all.find(score);
    __builtin_prefetch(all.block + own);
    for (int32_t i = 0; i <= own; i += kPerLine) {
      __builtin_prefetch(all.first_discount + i);
      __builtin_prefetch(all.moved_down + i);
    }
    for (int32_t i = own; i < all.size; i += kPerLine) {
      __builtin_prefetch(all.last_discount + i);
      __builtin_prefetch(all.moved_up + i);
    }
  }

  // Takes a node's documents from its score and gives them the scores of its children.
  void split(int32_t query, double score, double left_score, const Subset& left, double right_score,
             const Subset& right) {
    int32_t first = sizes_[query];
    if (left.count > 0) first = std::min(first, move(query, score, left_score, left));
    if (right.count > 0) first = std::min(first, move(query, score, right_score, right));
    renew(query, first);
  }

  // The query's part of the metric: scale * DCG.
  double value(int32_t query) const {
    double dcg = 0;
    const Block* block = blocks_.data() + offsets_[query];
    for (int32_t i = 0; i < sizes_[query]; ++i) {
      dcg += block[i].gain_mean *
             (metric_.cumulative[block[i].end()] - metric_.cumulative[block[i].start]);
    }
    return metric_.scale[query] * dcg;
  }

 private:
  static constexpr int64_t kNumbers = 5;
  static constexpr int32_t kPerLine = 8;  // numbers in a cache line

  using OwnColumns = ColumnsOf<double, Block>;

  OwnColumns own(int32_t query) {
    return columns<double, Block>(query, numbers_.data(), blocks_.data());
  }

  // The numbers of a query lie close together.
  template <typename Number, typename OfBlock>
  ColumnsOf<Number, OfBlock> columns(int32_t query, Number* number, OfBlock* block) const {
    const int64_t n = offsets_[query + 1] - offsets_[query];
    number += kNumbers * offsets_[query];
    block += offsets_[query];
    return {sizes_[query],  number,         block,         number + n,
            number + 2 * n, number + 3 * n, number + 4 * n};
  }

  static void set(const OwnColumns& all, int32_t i, double score, const Subset& documents) {
    all.score[i] = score;
    all.block[i] = {documents.gain, documents.gain / documents.count, 0, documents.count};
  }

  static void change(Block& block, int32_t count, double gain) {
    block.count += count;
    block.gain_sum += gain;
    block.gain_mean = block.gain_sum / block.count;
  }

  // Moves blocks to higher or lower numbers.
  static void shift(const OwnColumns& all, int32_t begin, int32_t end, int32_t by) {
    const auto n = static_cast<size_t>(end - begin);
    std::memmove(all.score + begin + by, all.score + begin, n * sizeof(double));
    std::memmove(all.block + begin + by, all.block + begin, n * sizeof(Block));
  }

  // Moves documents from one block to another, which may be new; the old one may become empty.
  // Returns the first block that has changed.
  int32_t move(int32_t query, double score, double new_score, const Subset& documents) {
    const OwnColumns all = own(query);
    if (new_score == score) return all.size;
    const int32_t from = all.find(score);
    int32_t to = all.find(new_score);
    const bool vanishes = all.block[from].count == documents.count;
    const bool appears = to == all.size || all.score[to] != new_score;
    sizes_[query] += appears - vanishes;
    if (!vanishes) change(all.block[from], -documents.count, -documents.gain);
    if (!appears) {
      change(all.block[to], documents.count, documents.gain);
      if (vanishes) shift(all, from + 1, all.size, -1);
    } else {
      if (!vanishes) {
        shift(all, to, all.size, 1);
      } else if (to <= from) {
        shift(all, to, from, 1);
      } else {
        shift(all, from + 1, to--, -1);
      }
      set(all, to, new_score, documents);
    }
    return std::min(from, to);
  }

  // Recomputes, from block `first` on, the values that depend on earlier blocks.
  void renew(int32_t query, int32_t first) {
    const OwnColumns all = own(query);
    const double* sum = metric_.cumulative.data();
    const double scale = metric_.scale[query];
    int32_t start = first == 0 ? 0 : all.block[first - 1].end();
    for (int32_t i = first; i < all.size; ++i) {
      const int32_t end = start + all.block[i].count;
      all.block[i].start = start;
      all.first_discount[i] = sum[start + 1] - sum[start];
      all.last_discount[i] = sum[end] - sum[end - 1];
      start = end;
    }
    if (first == 0) {
      all.moved_down[0] = all.moved_up[0] = 0.0;
      first = 1;
    }
    for (int32_t i = first; i < all.size; ++i) {
      all.moved_down[i] =
          all.moved_down[i - 1] +
          scale * all.block[i - 1].gain_mean * (all.first_discount[i] - all.first_discount[i - 1]);
      all.moved_up[i] = all.moved_up[i - 1] + scale * all.block[i].gain_mean *
                                                  (all.last_discount[i - 1] - all.last_discount[i]);
    }
  }

  const std::vector<int64_t>& offsets_;
  const ListwiseMetric& metric_;
  // A query with n documents has at most n blocks.
  LargeVector<Block> blocks_;
  LargeVector<double> numbers_;  // all other columns
  std::vector<int32_t> sizes_;
};

}  // namespace rankgrove::forests
