// For each query of a tree's sample: the leaves of the growing tree in which it has documents.
//
// Vocabulary: a *block* is a set of documents of one query that share their score, and so their
// ranks: leaves of equal score form one block. A block of n documents that starts after `start`
// better ones adds  mean gain * (D[start + n] - D[start])  to the query's metric, where D is the
// running sum of the discounts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/forest_data.hpp"

namespace rankgrove::forests {

struct Block {
  double score;
  double gain_sum;
  double gain_mean;
  int32_t start;
  int32_t count;
};

// Documents of one query in one place.
struct Portion {
  int32_t count = 0;
  double gain = 0;

  void add(double document_gain) {
    ++count;
    gain += document_gain;
  }
};

class LeafTable {
 public:
  LeafTable(const std::vector<int64_t>& offsets, const PositionMetric& metric)
      : offsets_(offsets),
        metric_(metric),
        blocks_(static_cast<size_t>(offsets.back())),
        sizes_(offsets.size() - 1, 0) {}

  // Puts all given documents of a query into one block.
  void start_query(int32_t query, double score, const Portion& all) {
    sizes_[query] = 0;
    insert(query, score, all);
    set_starts(query, 0);
  }

  // Blocks of a query, best score first.
  const Block* blocks(int32_t query) const { return blocks_.data() + offsets_[query]; }
  int32_t size(int32_t query) const { return sizes_[query]; }

  // Number of the block with this score, which must exist.
  int32_t find(int32_t query, double score) const {
    const Block* all = blocks(query);
    return static_cast<int32_t>(
        std::partition_point(all, all + size(query),
                             [score](const Block& block) { return block.score > score; }) -
        all);
  }

  // Takes a node's documents from its score and gives them the scores of its children.
  void split(int32_t query, double score, double left_score, const Portion& left,
             double right_score, const Portion& right) {
    int32_t first = take(query, score, {left.count + right.count, left.gain + right.gain});
    first = std::min(first, insert(query, left_score, left));
    first = std::min(first, insert(query, right_score, right));
    set_starts(query, first);
  }

  // The query's part of the metric: scale * DCG.
  double value(int32_t query) const {
    const Block* all = blocks(query);
    double dcg = 0;
    for (int32_t i = 0; i < size(query); ++i) {
      dcg += all[i].gain_mean *
             (metric_.cumulative[all[i].start + all[i].count] - metric_.cumulative[all[i].start]);
    }
    return metric_.scale[query] * dcg;
  }

 private:
  Block* own(int32_t query) { return blocks_.data() + offsets_[query]; }

  // Returns the first block whose start may have changed, as does insert.
  int32_t take(int32_t query, double score, const Portion& documents) {
    Block* all = own(query);
    const int32_t at = find(query, score);
    Block& block = all[at];
    block.count -= documents.count;
    block.gain_sum -= documents.gain;
    if (block.count == 0) {
      std::copy(all + at + 1, all + sizes_[query], all + at);
      --sizes_[query];
    } else {
      block.gain_mean = block.gain_sum / block.count;
    }
    return at;
  }

  int32_t insert(int32_t query, double score, const Portion& documents) {
    if (documents.count == 0) return sizes_[query];
    Block* all = own(query);
    const int32_t at = find(query, score);
    if (at < sizes_[query] && all[at].score == score) {
      all[at].count += documents.count;
      all[at].gain_sum += documents.gain;
    } else {
      std::copy_backward(all + at, all + sizes_[query], all + sizes_[query] + 1);
      all[at] = {score, documents.gain, 0, 0, documents.count};
      ++sizes_[query];
    }
    all[at].gain_mean = all[at].gain_sum / all[at].count;
    return at;
  }

  void set_starts(int32_t query, int32_t first) {
    Block* all = own(query);
    int32_t start = first == 0 ? 0 : all[first - 1].start + all[first - 1].count;
    for (int32_t i = first; i < sizes_[query]; ++i) {
      all[i].start = start;
      start += all[i].count;
    }
  }

  const std::vector<int64_t>& offsets_;
  const PositionMetric& metric_;
  std::vector<Block> blocks_;  // a query with n documents has at most n blocks
  std::vector<int32_t> sizes_;
};

}  // namespace rankgrove::forests
