// Gains of a node's candidates by a metric that is a sum over blocks (block_metrics.hpp), summed up
// query by query.
//
// The effects of the two children on a query are independent: the child above comes before the
// blocks that it passes, the child below no longer does. A response is divided into a
// near and a far part as in query_response.hpp; but it follows from which documents move, not from
// the sum of their gains, and is computed for every subset of a query's documents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/listwise/block_table.hpp"
#include "forests/listwise/document_moves.hpp"
#include "forests/listwise/node_queries.hpp"
#include "forests/listwise/score_positions.hpp"
#include "forests/listwise/split_candidates.hpp"

namespace rankgrove::forests {

template <typename Code, typename Metric>
class BlockGains {
 public:
  using Table = BlockTable<Metric>;

  BlockGains(const ForestData& data, const Table& table, const SplitCandidates<Code>& candidates)
      : scale_(data.targets.metric.scale),
        table_(table),
        metric_(table.metric()),
        candidates_(candidates) {}

  // Finds the gains of all candidates of a node with this score.
  void find(const NodeQueries& queries, const NodeRows& documents, double score) {
    const auto n = static_cast<size_t>(candidates_.size());
    common_ = 0.0;
    far_.assign(n, 0.0);
    near_steps_.assign(n + candidates_.sweeps().size(), {});
    for (const NodeQuery& query : queries.all()) {
      start_query(query, documents.rows + query.first_document, score);
      int32_t number = 0;
      for (const Sweep& sweep : candidates_.sweeps()) add_sweep(query, sweep, number++);
    }
  }

  // Calls each(candidate, gain) for all candidates in order.
  template <typename Each>
  void visit(Each&& each) const {
    const int32_t first_above = candidates_.child_scores().first_above();
    size_t step = 0;
    for (const Sweep& sweep : candidates_.sweeps()) {
      Near near;
      for (int32_t i = sweep.begin; i < sweep.end; ++i) {
        near.add(near_steps_[step++]);
        const bool left_above = candidates_.child_index()[2 * i] >= first_above;
        each(i, common_ + far_[i] + (left_above ? near.left_above : near.left_below));
      }
      ++step;  // documents that never move left
    }
  }

 private:
  enum Side { kLeft, kRight };

  struct Near {
    double left_above = 0.0;
    double left_below = 0.0;
    void add(const Near& other) {
      left_above += other.left_above;
      left_below += other.left_below;
    }
  };

  // Some of the query's documents in the node, which grow by one document after the other.
  struct Subset {
    int32_t count = 0;
    double sum = Metric::kNothing;
    std::vector<double> passes;
    std::vector<double> values;  // for ties with a block

    void clear(size_t most) {
      count = 0;
      sum = Metric::kNothing;
      values.clear();
      if constexpr (Metric::kHasPasses) {
        if (passes.size() <= most) passes.resize(most + 1);
        passes[0] = 1.0;
      }
    }
    void add(double one) {
      ++count;
      sum = Metric::combined(sum, one);
      if constexpr (Metric::kHasPasses) {
        values.push_back(one);
        add_pass(one, count, passes.data());
      }
    }
    TiedDocuments documents() const { return {count, sum, passes.data()}; }
  };

  void start_query(const NodeQuery& query, const int32_t* rows, double score) {
    n_blocks_ = table_.size(query.query);
    blocks_ = table_.blocks(query.query);
    own_ = find_score(table_.scores(query.query), n_blocks_, score);
    positions_.start(table_.scores(query.query), n_blocks_, own_, candidates_.child_scores());
    const TiedBlock& own = blocks_[own_];
    query_scale_ = scale_[query.query];
    const int32_t m = query.all.count;
    ones_.resize(m);
    for (int32_t d = 0; d < m; ++d) ones_[d] = Metric::of_document(table_.document_value(rows[d]));
    // The documents of other leaves with the same score.
    others_.clear(static_cast<size_t>(own.documents.count));
    const RowSpan all = table_.rows(query.query, own);
    for (int64_t i = 0, j = 0; i < all.count; ++i) {
      if (j < m && rows[j] == all.rows[i]) {
        ++j;
      } else {
        others_.add(Metric::of_document(table_.document_value(all.rows[i])));
      }
    }
    others_value_ =
        others_.count > 0 ? metric_.value(own.start, own.before, others_.documents()) : 0.0;
    common_ += query_scale_ * (others_value_ - own.value);
    above_.resize(n_blocks_ + 1);
    below_.resize(n_blocks_ + 1);
    below_before_.resize(n_blocks_ + 1);
  }

  void add_sweep(const NodeQuery& query, const Sweep& sweep, int32_t number) {
    const int32_t m = query.all.count;
    const int32_t* move_at = candidates_.move_at(sweep) + query.first_document;
    moves_.list(move_at, m, sweep);
    const auto [right_begin, left_end] = candidates_.passing_range(sweep, positions_);
    // first_[k] combines the first k documents that move left, rest_[k] all others.
    rest_.resize(m + 1);
    first_.resize(m + 1);
    rest_[m] = first_[0] = Metric::kNothing;
    for (int32_t k = m; k-- > 0;) {
      rest_[k] = Metric::combined(rest_[k + 1], ones_[moves_[k].document]);
    }
    Near* steps = near_steps_.data() + number;
    subset_.clear(m);
    Near before;
    for (int32_t k = 0; k < m;) {
      const int32_t move = moves_[k].candidate;
      for (; k < m && moves_[k].candidate == move; ++k) {
        subset_.add(ones_[moves_[k].document]);
        first_[k + 1] = subset_.sum;
      }
      if (move == sweep.end) break;
      const int32_t end = k < m ? moves_[k].candidate : sweep.end;
      start_subset(rest_[k]);
      const Near now{near_above_, near_below_};
      add_difference(steps[move], now, before);
      before = now;
      add_far(kLeft, move, std::min(end, left_end));
    }
    // The right child, from its smallest subset on.
    subset_.clear(m);
    int32_t k = m;
    while (k > 0 && moves_[k - 1].candidate == sweep.end) add_last(--k);
    int32_t end = sweep.end;
    Near behind;  // in the candidates behind these
    while (true) {
      const int32_t begin = k > 0 ? moves_[k - 1].candidate : sweep.begin;
      Near now;
      if (subset_.count > 0) {
        start_subset(first_[k]);
        now = {near_below_, near_above_};
        add_far(kRight, std::max(begin, right_begin), end);
      }
      add_difference(steps[end], behind, now);
      behind = now;
      if (k == 0) break;
      end = begin;
      while (k > 0 && moves_[k - 1].candidate == begin) add_last(--k);
    }
    steps[sweep.begin].add(behind);
  }

  void add_last(int32_t k) { subset_.add(ones_[moves_[k].document]); }

  static void add_difference(Near& step, const Near& now, const Near& before) {
    step.left_above += now.left_above - before.left_above;
    step.left_below += now.left_below - before.left_below;
  }

  // `rest` combines the node's other documents of the query.
  void start_subset(double rest) {
    const TiedBlock& own = blocks_[own_];
    const TiedDocuments moved = subset_.documents();
    above_value_ = metric_.value(own.start, own.before, moved);
    near_above_ = above_value_;
    if (others_.count > 0) {
      near_above_ += metric_.value(own.start + moved.count, Metric::combined(own.before, moved.sum),
                                   others_.documents()) -
                     others_value_;
    }
    below_before_[own_] = Metric::combined(Metric::combined(own.before, others_.sum), rest);
    near_below_ =
        metric_.value(own.start + own.documents.count - moved.count, below_before_[own_], moved);
    near_above_ *= query_scale_;
    below_value_ = near_below_;
    near_below_ *= query_scale_;
    above_[own_] = below_[own_] = 0.0;
    above_done_ = below_done_ = own_;
  }

  void add_far(Side side, int32_t begin, int32_t end) {
    const int32_t* position = positions_.positions();
    const int32_t* index = candidates_.child_index() + side;
    const int32_t first_above = candidates_.child_scores().first_above();
    int32_t last = own_;
    double value = 0.0;
    for (int32_t i = begin; i < end; ++i) {
      const int32_t next = position[index[2 * i]];
      if (next != last) {
        last = next;
        value = next == own_ ? 0.0 : far(next, index[2 * i] >= first_above);
      }
      far_[i] += value;
    }
  }

  // The far part of the subset's response at a position.
  double far(int32_t position, bool above) {
    const bool tied = position >= n_blocks_;
    const int32_t i = tied ? positions_.ties()[position - n_blocks_] : position;
    const TiedBlock& block = blocks_[i];
    const TiedDocuments moved = subset_.documents();
    if (above) {
      extend_above(tied ? i + 1 : i);
      if (!tied) {
        return query_scale_ *
               (above_[i] + metric_.value(block.start, block.before, moved) - above_value_);
      }
      return query_scale_ *
             (above_[i + 1] + metric_.value(block.start, block.before, merged(block)) -
              block.value - above_value_);
    }
    extend_below(tied ? i - 1 : i);
    if (!tied) {
      return query_scale_ * (below_[i] +
                             metric_.value(block.start + block.documents.count - moved.count,
                                           below_before_[i], moved) -
                             below_value_);
    }
    return query_scale_ *
           (below_[i - 1] +
            metric_.value(block.start - moved.count, below_before_[i - 1], merged(block)) -
            block.value - below_value_);
  }

  // The gains of blocks i .. own - 1 if the subset comes before them.
  void extend_above(int32_t i) {
    for (; above_done_ > i; --above_done_) {
      const TiedBlock& block = blocks_[above_done_ - 1];
      above_[above_done_ - 1] =
          above_[above_done_] - block.value +
          metric_.value(block.start + subset_.count, Metric::combined(block.before, subset_.sum),
                        block.documents);
    }
  }

  // The gains of blocks own + 1 .. i if the subset no longer comes before them.
  void extend_below(int32_t i) {
    for (; below_done_ < i; ++below_done_) {
      const TiedBlock& block = blocks_[below_done_ + 1];
      const double before = below_before_[below_done_];
      below_[below_done_ + 1] = below_[below_done_] - block.value +
                                metric_.value(block.start - subset_.count, before, block.documents);
      below_before_[below_done_ + 1] = Metric::combined(before, block.documents.sum);
    }
  }

  // The subset and a block in one.
  TiedDocuments merged(const TiedBlock& block) {
    const int32_t count = block.documents.count;
    const double sum = Metric::combined(block.documents.sum, subset_.sum);
    if constexpr (Metric::kHasPasses) {
      merged_.resize(static_cast<size_t>(count + subset_.count) + 1);
      std::copy_n(block.documents.passes, count + 1, merged_.begin());
      for (int32_t d = 0; d < subset_.count; ++d) {
        add_pass(subset_.values[d], count + d + 1, merged_.data());
      }
    }
    return {count + subset_.count, sum, merged_.data()};
  }

  const std::vector<double>& scale_;
  const Table& table_;
  const Metric& metric_;
  const SplitCandidates<Code>& candidates_;
  double common_ = 0.0;           // to all candidates
  std::vector<Near> near_steps_;  // at each candidate, and one more for each sweep
  std::vector<double> far_;       // of each candidate

  // The query at hand.
  int32_t n_blocks_ = 0;
  const TiedBlock* blocks_ = nullptr;
  int32_t own_ = 0;
  double query_scale_ = 0.0;
  ScorePositions positions_;
  std::vector<double> ones_;  // its documents in the node
  Subset others_;
  double others_value_ = 0.0;
  DocumentMoves moves_;
  std::vector<double> rest_, first_;

  // The subset at hand.
  Subset subset_;
  double near_above_ = 0.0, near_below_ = 0.0;
  double above_value_ = 0.0, below_value_ = 0.0;
  std::vector<double> above_, below_, below_before_;
  int32_t above_done_ = 0, below_done_ = 0;
  std::vector<double> merged_;
};

}  // namespace rankgrove::forests
