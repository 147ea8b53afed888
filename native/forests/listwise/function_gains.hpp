// Gains of a node's candidates by a metric that is a function of a query's documents and their
// scores, such as one written in Python.
//
// For each query of the node the scores of its documents under every candidate are listed, a
// *ranking*, and the function evaluates them all at once. Candidates of a sweep that give the
// query the same ranking share one: from one to the next, the ranking changes only where a document
// of the query moves left, or where the score of a child passes that of another document. If the
// metric reads the scores themselves, every candidate has a ranking of its own.
//
// Example: a query has the documents a and b in the node, whose score is 1, and c in a leaf of
// score 1.6. The node's three candidates have the children
//   left    0     1/3   1/2
//   right   3/2   5/3   2
// and move a left at the first candidate, b never. The rankings are
//   candidate 0     c (1.6)  b (3/2)  a (0)
//   candidate 1     b (5/3)  c (1.6)  a (1/3)    the right child has passed c
//   candidate 2     the same order: no new ranking
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/listwise/node_queries.hpp"
#include "forests/listwise/score_table.hpp"
#include "forests/listwise/split_candidates.hpp"

namespace rankgrove::forests {

template <typename Code>
class FunctionGains {
 public:
  using Table = ScoreTable;

  FunctionGains(const ForestData& data, const ScoreTable& table,
                const SplitCandidates<Code>& candidates)
      : metric_(data.targets.metric), table_(table), candidates_(candidates) {}

  // Finds the gains of all candidates of a node.
  void find(const NodeQueries& queries, const NodeRows& documents, double) {
    gains_.assign(static_cast<size_t>(candidates_.size()), 0.0);
    common_ = 0.0;
    for (const NodeQuery& query : queries.all()) {
      start_query(query, documents.rows + query.first_document);
      for (const Sweep& sweep : candidates_.sweeps()) {
        if (sweep.begin < sweep.end) add_sweep(query, sweep);
      }
      if (rankings_.rows.size() >= kManyDocuments) evaluate();
    }
    evaluate();
  }

  // Calls each(candidate, gain) for all candidates in order.
  template <typename Each>
  void visit(Each&& each) const {
    for (size_t i = 0; i < gains_.size(); ++i) each(static_cast<int32_t>(i), common_ + gains_[i]);
  }

 private:
  static constexpr size_t kManyDocuments = size_t{1} << 20;

  // Candidates begin .. end - 1 that give a query the same ranking; those before the first one
  // stand for the query as it is.
  struct Use {
    int32_t begin, end;
    double scale;
  };

  void start_query(const NodeQuery& query, const int32_t* rows) {
    scale_ = metric_.scale[query.query];
    const RowSpan all = table_.rows(query.query);
    begin_ = static_cast<int64_t>(rankings_.rows.size());
    others_.clear();
    place_.clear();
    for (int64_t i = 0, d = 0; i < all.count; ++i) {
      rankings_.rows.push_back(all.rows[i]);
      rankings_.scores.push_back(table_.score(all.rows[i]));
      if (d < query.all.count && rows[d] == all.rows[i]) {
        place_.push_back(i);
        ++d;
      } else {
        others_.push_back(rankings_.scores.back());
      }
    }
    close_ranking({-1, -1, -scale_});
    std::sort(others_.begin(), others_.end());
    const ChildScoreIndex& scores = candidates_.child_scores();
    position_.resize(static_cast<size_t>(scores.size()));
    for (int32_t i = 0; i < scores.size(); ++i) {
      position_[i] = metric_.reads_scores ? i : position_of(scores[i]);
    }
  }

  // Twice the number of other documents below the score, and one more if some are level with it.
  int32_t position_of(double score) const {
    const auto [first, last] = std::equal_range(others_.begin(), others_.end(), score);
    return static_cast<int32_t>(2 * (first - others_.begin())) + (first != last);
  }

  void add_sweep(const NodeQuery& query, const Sweep& sweep) {
    const int32_t m = query.all.count;
    const int32_t* move_at = candidates_.move_at(sweep) + query.first_document;
    arrivals_.assign(move_at, move_at + m);
    std::sort(arrivals_.begin(), arrivals_.end());
    int32_t n_left = 0;
    int32_t begin = sweep.begin;
    Key last;
    for (int32_t i = sweep.begin; i < sweep.end; ++i) {
      while (n_left < m && arrivals_[n_left] <= i) ++n_left;
      const int32_t* child = candidates_.child_index() + 2 * i;
      const bool left_above = child[0] >= candidates_.child_scores().first_above();
      const Key key{n_left, n_left > 0 ? position_[child[0]] : 0,
                    n_left < m ? position_[child[1]] : 0, left_above};
      if (i > sweep.begin && key == last) continue;
      if (i > sweep.begin) add_ranking(move_at, begin, i);
      last = key;
      begin = i;
    }
    add_ranking(move_at, begin, sweep.end);
  }

  // Determines the ranking of a query under a candidate.
  struct Key {
    int32_t n_left = 0;
    int32_t left = 0;
    int32_t right = 0;
    bool left_above = false;
    bool operator==(const Key&) const = default;
  };

  // The ranking under candidate `begin`, which the others up to end - 1 share.
  void add_ranking(const int32_t* move_at, int32_t begin, int32_t end) {
    const ChildScoreIndex& scores = candidates_.child_scores();
    const int32_t* child = candidates_.child_index() + 2 * begin;
    const auto first = static_cast<int64_t>(rankings_.rows.size());
    const int64_t n = first_end_ - begin_;
    for (int64_t i = 0; i < n; ++i) {
      rankings_.rows.push_back(rankings_.rows[begin_ + i]);
      rankings_.scores.push_back(rankings_.scores[begin_ + i]);
    }
    for (size_t d = 0; d < place_.size(); ++d) {
      rankings_.scores[first + place_[d]] = scores[child[move_at[d] > begin]];
    }
    close_ranking({begin, end, scale_});
  }

  void close_ranking(const Use& use) {
    if (use.begin < 0) first_end_ = static_cast<int64_t>(rankings_.rows.size());
    rankings_.offsets.push_back(static_cast<int64_t>(rankings_.rows.size()));
    uses_.push_back(use);
  }

  void evaluate() {
    if (uses_.empty()) return;
    values_.resize(uses_.size());
    metric_.evaluate(rankings_, values_);
    for (size_t i = 0; i < uses_.size(); ++i) {
      const double value = uses_[i].scale * values_[i];
      if (uses_[i].begin < 0) common_ += value;
      for (int32_t c = std::max(0, uses_[i].begin); c < uses_[i].end; ++c) gains_[c] += value;
    }
    rankings_.clear();
    uses_.clear();
  }

  const ListwiseMetric& metric_;
  const ScoreTable& table_;
  const SplitCandidates<Code>& candidates_;
  std::vector<double> gains_;
  double common_ = 0.0;  // to all candidates

  QueryRankings rankings_;
  std::vector<Use> uses_;  // of each ranking
  std::vector<double> values_;

  // The query at hand.
  double scale_ = 0.0;
  int64_t begin_ = 0, first_end_ = 0;  // of the ranking as it is
  std::vector<int64_t> place_;         // of each of its documents in the node, in a ranking
  std::vector<double> others_;         // scores of its other documents, ascending
  std::vector<int32_t> position_;      // of each child score
  std::vector<int32_t> arrivals_;
};

}  // namespace rankgrove::forests
