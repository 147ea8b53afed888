// The blocks of each query of a tree's sample, with the documents that they hold and what they add
// to a metric of block_metrics.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/large_pages.hpp"
#include "forests/data/forest_targets.hpp"
#include "forests/listwise/block_metrics.hpp"

namespace rankgrove::forests {

// Rows of documents of one query, ascending.
struct RowSpan {
  const int32_t* rows = nullptr;
  int64_t count = 0;
};

struct TiedBlock {
  TiedDocuments documents;
  int32_t start;
  double before;  // what stands before it: see the metric
  double value;   // its part of the query's metric, without the query's scale
};

template <typename Metric>
class BlockTable {
 public:
  BlockTable(const std::vector<int64_t>& offsets, const ListwiseMetric& metric)
      : offsets_(offsets),
        document_value_(metric.gain),
        metric_(static_cast<int64_t>(metric.cumulative.size()) - 1, metric.k),
        rows_(static_cast<size_t>(offsets.back())),
        scores_(rows_.size()),
        blocks_(rows_.size()),
        passes_(Metric::kHasPasses ? 2 * rows_.size() : 0),
        sizes_(offsets.size() - 1, 0) {}

  const Metric& metric() const { return metric_; }
  static RowSpan subset(const int32_t* rows, int64_t n) { return {rows, n}; }

  int32_t size(int32_t query) const { return sizes_[query]; }
  const double* scores(int32_t query) const { return scores_.data() + offsets_[query]; }
  const TiedBlock* blocks(int32_t query) const { return blocks_.data() + offsets_[query]; }
  // Rows of a block.
  RowSpan rows(int32_t query, const TiedBlock& block) const {
    return {rows_.data() + offsets_[query] + block.start, block.documents.count};
  }
  double document_value(int32_t row) const { return document_value_[row]; }

  void start_query(int32_t query, double score, const RowSpan& all) {
    sizes_[query] = 0;
    parts_.assign(1, {score, all, kChanged});
    write(query);
  }

  // Takes a node's documents from its score and gives them the scores of its children.
  void split(int32_t query, double score, double left_score, const RowSpan& left,
             double right_score, const RowSpan& right) {
    const int64_t n = offsets_[query + 1] - offsets_[query];
    const int32_t* old = rows_.data() + offsets_[query];
    const int32_t size = sizes_[query];
    old_rows_.assign(old, old + n);
    if (static_cast<int64_t>(made_.size()) < 3 * n) made_.resize(static_cast<size_t>(3 * n));
    n_made_ = 0;
    parts_.clear();
    for (int32_t i = 0; i < size; ++i) {
      const TiedBlock& block = blocks(query)[i];
      const RowSpan span{old_rows_.data() + block.start, block.documents.count};
      if (scores(query)[i] != score) {
        parts_.push_back({scores(query)[i], span, i});
      } else if (const RowSpan rest = without(span, left, right); rest.count > 0) {
        parts_.push_back({score, rest, kChanged});
      }
    }
    put(left_score, left);
    put(right_score, right);
    write(query);
  }

 private:
  static constexpr int32_t kChanged = -1;

  struct Part {
    double score;
    RowSpan rows;
    int32_t old_block;  // kChanged if it holds other documents
  };

  RowSpan without(const RowSpan& all, const RowSpan& left, const RowSpan& right) {
    int32_t* first = made_.data() + n_made_;
    int32_t* last = first;
    int64_t l = 0;
    int64_t r = 0;
    for (int64_t i = 0; i < all.count; ++i) {
      const int32_t row = all.rows[i];
      if (l < left.count && left.rows[l] == row) {
        ++l;
      } else if (r < right.count && right.rows[r] == row) {
        ++r;
      } else {
        *last++ = row;
      }
    }
    n_made_ += last - first;
    return {first, last - first};
  }

  void put(double score, const RowSpan& rows) {
    if (rows.count == 0) return;
    const auto at = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& part) { return part.score <= score; });
    if (at == parts_.end() || at->score != score) {
      parts_.insert(at, {score, rows, kChanged});
      return;
    }
    int32_t* first = made_.data() + n_made_;
    const int32_t* last = std::merge(at->rows.rows, at->rows.rows + at->rows.count, rows.rows,
                                     rows.rows + rows.count, first);
    n_made_ += last - first;
    at->rows = {first, last - first};
    at->old_block = kChanged;
  }

  void write(int32_t query) {
    const int64_t offset = offsets_[query];
    TiedBlock* block = blocks_.data() + offset;
    if (Metric::kHasPasses)
      old_passes_.assign(passes_.begin() + 2 * offset, passes_.begin() + 2 * offsets_[query + 1]);
    old_blocks_.assign(block, block + sizes_[query]);
    int32_t start = 0;
    double before = Metric::kNothing;
    int64_t pass = 0;
    sizes_[query] = static_cast<int32_t>(parts_.size());
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const auto count = static_cast<int32_t>(part.rows.count);
      std::copy_n(part.rows.rows, count, rows_.begin() + offset + start);
      scores_[offset + static_cast<int64_t>(i)] = part.score;
      TiedDocuments& documents = block[i].documents;
      documents.count = count;
      double* passes = nullptr;
      if constexpr (Metric::kHasPasses) {
        passes = passes_.data() + 2 * offset + pass;
        pass += count + 1;
      }
      if (part.old_block != kChanged) {
        const TiedBlock& old = old_blocks_[part.old_block];
        documents.sum = old.documents.sum;
        if constexpr (Metric::kHasPasses) {
          const int64_t from = old.documents.passes - (passes_.data() + 2 * offset);
          std::copy_n(old_passes_.begin() + from, count + 1, passes);
        }
      } else {
        documents.sum = Metric::kNothing;
        if constexpr (Metric::kHasPasses) passes[0] = 1.0;
        for (int32_t d = 0; d < count; ++d) {
          const double one = Metric::of_document(document_value_[part.rows.rows[d]]);
          documents.sum = Metric::combined(documents.sum, one);
          if constexpr (Metric::kHasPasses) add_pass(one, d + 1, passes);
        }
      }
      documents.passes = passes;
      block[i].start = start;
      block[i].before = before;
      block[i].value = metric_.value(start, before, documents);
      start += count;
      before = Metric::combined(before, documents.sum);
    }
  }

  const std::vector<int64_t>& offsets_;
  const std::vector<double>& document_value_;
  Metric metric_;
  // A query with n documents has at most n blocks; a block of m documents has m + 1 passes.
  std::vector<int32_t> rows_;  // block by block
  LargeVector<double> scores_;
  LargeVector<TiedBlock> blocks_;
  LargeVector<double> passes_;
  std::vector<int32_t> sizes_;

  // The query at hand.
  std::vector<Part> parts_;
  std::vector<int32_t> old_rows_, made_;
  int64_t n_made_ = 0;
  std::vector<double> old_passes_;
  std::vector<TiedBlock> old_blocks_;
};

}  // namespace rankgrove::forests
