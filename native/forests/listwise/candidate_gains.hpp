// Gains of a node's candidate splits, summed query by query.
//
// The score of a large child is close to that of the node, and no block of the query lies between
// the two. Therefore, a query's response is added in two parts. The near part changes only where
// documents of the query move to the left child; it depends on which child is above, so there are
// two of them, kept as differences between neighbouring candidates. The far part is added candidate
// by candidate, within the range of those with a child that passes a block of the query.
//
// The far part of a *subset*, some of the query's documents, is listed for all positions if the
// query has only a few documents in the node and so a few subsets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/listwise/document_moves.hpp"
#include "forests/listwise/leaf_table.hpp"
#include "forests/listwise/near_of_first.hpp"
#include "forests/listwise/node_queries.hpp"
#include "forests/listwise/query_response.hpp"
#include "forests/listwise/split_candidates.hpp"

namespace rankgrove::forests {

template <typename Code>
class CandidateGains {
 public:
  using Table = LeafTable;

  CandidateGains(const ForestData& data, const LeafTable& leaves,
                 const SplitCandidates<Code>& candidates)
      : leaves_(leaves), candidates_(candidates), response_(data.targets.metric, leaves) {}

  // Finds the gains of all candidates of a node with this score.
  void find(const NodeQueries& node_queries, const NodeRows&, double score) {
    start();
    const std::vector<NodeQuery>& queries = node_queries.all();
    for (size_t i = 0; i < std::min<size_t>(2, queries.size()); ++i) {
      leaves_.prefetch_scores(queries[i].query);
    }
    for (size_t i = 0; i < queries.size(); ++i) {
      if (i + 2 < queries.size()) leaves_.prefetch_scores(queries[i + 2].query);
      if (i + 1 < queries.size()) leaves_.prefetch(queries[i + 1].query, score);
      response_.start(queries[i], score, candidates_.child_scores());
      add(queries[i], response_, node_queries.gains());
    }
  }

  // Calls each(candidate, gain) for all candidates in order.
  template <typename Each>
  void visit(Each&& each) const {
    const int32_t first_above = candidates_.child_scores().first_above();
    size_t step = 0;
    for (const Sweep& sweep : candidates_.sweeps()) {
      Near near = all_right_;
      for (int32_t i = sweep.begin; i < sweep.end; ++i) {
        near += near_steps_[step++];
        const bool left_above = candidates_.child_index()[2 * i] >= first_above;
        each(i, common_ + far_[i] + (left_above ? near.left_above : near.left_below));
      }
      ++step;  // documents that never move left
    }
  }

 private:
  void start() {
    const auto n = static_cast<size_t>(candidates_.size());
    common_ = 0.0;
    all_right_ = {};
    far_.assign(n, 0.0);
    near_steps_.assign(n + candidates_.sweeps().size(), {});
  }

  // Adds a query; document_gain are those of the node's documents.
  void add(const NodeQuery& query, const QueryResponse& response, const double* document_gain) {
    common_ += response.removal();
    if (query.all.count <= kFew) {
      add_few(query, response, document_gain + query.first_document);
    } else {
      add_many(query, response, document_gain + query.first_document);
    }
  }

  static constexpr int32_t kFew = 3;
  enum Side { kLeft, kRight };

  // Subsets are sets of documents, one bit each.
  void add_few(const NodeQuery& query, const QueryResponse& response, const double* gain) {
    const int32_t m = query.all.count;
    const int32_t all = (1 << m) - 1;
    list_subsets(m, response, gain);
    all_right_ += near_few(0, all);
    int32_t number = 0;
    for (const Sweep& sweep : candidates_.sweeps()) {
      const int32_t* move_at = candidates_.move_at(sweep) + query.first_document;
      const auto [right_begin, left_end] = candidates_.passing_range(sweep, response.positions());
      int32_t left = 0;
      int32_t from = sweep.begin;
      while (true) {
        const int32_t right = all - left;
        const int32_t to = right == 0 ? sweep.end : first_move(move_at, m, right);
        if (left > 0) add_far_few(left, response, kLeft, from, std::min(to, left_end));
        if (right == 0) break;
        add_far_few(right, response, kRight, std::max(from, right_begin), to);
        const Near before = near_few(left, all);
        for (int32_t d = 0; d < m; ++d) left |= (move_at[d] == to) << d;
        near_steps_[to + number] += near_few(left, all) - before;
        if (to == sweep.end) break;
        from = to;
      }
      ++number;
    }
  }

  static int32_t first_move(const int32_t* move_at, int32_t m, int32_t subset) {
    int32_t first = std::numeric_limits<int32_t>::max();
    for (int32_t d = 0; d < m; ++d) {
      if (subset >> d & 1) first = std::min(first, move_at[d]);
    }
    return first;
  }

  // Lists the near and far parts of all subsets.
  void list_subsets(int32_t m, const QueryResponse& response, const double* gain) {
    n_positions_ = response.positions().size();
    subset_responses_.resize(n_positions_ << m);
    response.respond_near(m, near_lines_);
    if (m > 1) response.respond(m, near_lines_, far_lines_);
    for (int32_t subset = 1; subset < 1 << m; ++subset) {
      Subset sum;
      for (int32_t d = 0; d < m; ++d) {
        if (subset >> d & 1) sum.add(gain[d]);
      }
      const int32_t c = sum.count;
      near_above_[subset] = sum.gain * near_lines_.above_per_gain[c] + near_lines_.above_fixed[c];
      near_below_[subset] = sum.gain * near_lines_.below_per_gain[c];
      double* far = subset_responses_.data() + subset * n_positions_;
      if (c == 1) {
        response.respond(sum.gain, far);
      } else {
        for (size_t i = 0; i < n_positions_; ++i) {
          far[i] = far_lines_.at(static_cast<int32_t>(i), sum);
        }
      }
    }
  }

  Near near_few(int32_t left, int32_t all) const {
    return {near_above_[left] + near_below_[all - left],
            near_below_[left] + near_above_[all - left]};
  }

  void add_far_few(int32_t subset, const QueryResponse& response, Side side, int32_t begin,
                   int32_t end) {
    const double* far = subset_responses_.data() + subset * n_positions_;
    const int32_t* position = response.positions().positions();
    const int32_t* index = candidates_.child_index() + side;
    for (int32_t i = begin; i < end; ++i) far_[i] += far[position[index[2 * i]]];
  }

  void add_many(const NodeQuery& query, const QueryResponse& response, const double* gain) {
    const Subset& all = query.all;
    const int32_t m = all.count;
    response.respond_near(m, near_lines_);
    response.respond(m, near_lines_, far_lines_);
    near_of_first_.start(near_lines_, all);
    int32_t number = 0;
    for (const Sweep& sweep : candidates_.sweeps()) {
      moves_.list(candidates_.move_at(sweep) + query.first_document, m, sweep);
      near_of_first_.find(moves_, gain);
      if (number == 0) all_right_ += near_of_first_[0];
      for (int32_t k = 0; k < m;) {
        const Near before = near_of_first_[k];
        const int32_t move = moves_[k].candidate;
        while (k < m && moves_[k].candidate == move) ++k;
        near_steps_[move + number] += near_of_first_[k] - before;
      }
      add_far_parts(all, response, sweep);
      ++number;
    }
  }

  // The children have the same documents of the query from one move to the next.
  void add_far_parts(const Subset& all, const QueryResponse& response, const Sweep& sweep) {
    const auto [right_begin, left_end] = candidates_.passing_range(sweep, response.positions());
    const int32_t m = all.count;
    for (int32_t k = 0; k < m && moves_[k].candidate < left_end;) {
      const int32_t move = moves_[k].candidate;
      while (k < m && moves_[k].candidate == move) ++k;
      const int32_t end = k < m ? moves_[k].candidate : sweep.end;
      add_far({k, near_of_first_.gain(k)}, response, kLeft, move, std::min(end, left_end));
    }
    int32_t end = sweep.end;
    for (int32_t k = m; k >= 0 && end > right_begin;) {
      const int32_t move = k > 0 ? moves_[k - 1].candidate : sweep.begin;
      if (k < m) {
        add_far({m - k, all.gain - near_of_first_.gain(k)}, response, kRight,
                std::max(move, right_begin), end);
      }
      if (k == 0) break;
      end = move;
      while (k > 0 && moves_[k - 1].candidate == move) --k;
    }
  }

  void add_far(const Subset& subset, const QueryResponse& response, Side side, int32_t begin,
               int32_t end) {
    const int32_t* position = response.positions().positions();
    const int32_t* index = candidates_.child_index() + side;
    for (int32_t i = begin; i < end; ++i) far_[i] += far_lines_.at(position[index[2 * i]], subset);
  }

  const LeafTable& leaves_;
  const SplitCandidates<Code>& candidates_;
  QueryResponse response_;
  double common_ = 0.0;           // to all candidates
  Near all_right_;                // as long as nothing is on the left
  std::vector<Near> near_steps_;  // at each candidate, and one more for each sweep
  std::vector<double> far_;       // of each candidate

  // The query at hand.
  size_t n_positions_ = 0;
  NearLines near_lines_;
  FarLines far_lines_;
  // Few documents: of each subset.
  double near_above_[1 << kFew] = {};
  double near_below_[1 << kFew] = {};
  std::vector<double> subset_responses_;
  // Many documents.
  DocumentMoves moves_;
  NearOfFirst near_of_first_;
};

}  // namespace rankgrove::forests
