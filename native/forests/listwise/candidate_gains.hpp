// Gains of a node's candidate splits, summed query by query.
//
// As a child grows, its score comes close to the node's, and no block of the query lies between the
// two. So a query's response is added in two parts. The near part changes only where documents of
// the query move to the left child; it depends on which child is above, so there are two of them,
// kept as differences between neighbouring candidates. The far part is added candidate by
// candidate, within the range of those with a child that passes a block of the query.
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

  struct Near {
    double left_above = 0.0;
    double left_below = 0.0;
    void operator+=(const Near& other) {
      left_above += other.left_above;
      left_below += other.left_below;
    }
    Near operator-(const Near& other) const {
      return {left_above - other.left_above, left_below - other.left_below};
    }
  };

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
    lines_.resize(n_positions_);
    subset_responses_.resize(n_positions_ << m);
    for (int32_t c = 1; c <= m; ++c) {
      if (c > 1) response.respond(c, lines_.data());
      const Line above = response.near_above(c);
      const Line below = response.near_below(c);
      for (int32_t subset = 1; subset < 1 << m; ++subset) {
        if (std::popcount(static_cast<uint32_t>(subset)) != c) continue;
        double sum = 0.0;
        for (int32_t d = 0; d < m; ++d) sum += subset >> d & 1 ? gain[d] : 0.0;
        near_above_[subset] = above.at(sum);
        near_below_[subset] = below.at(sum);
        double* far = subset_responses_.data() + subset * n_positions_;
        if (c == 1) {
          response.respond(sum, far);
        } else {
          for (size_t i = 0; i < n_positions_; ++i) far[i] = lines_[i].at(sum);
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
    list_lines(all.count, response);
    all_right_ += near({}, all);
    int32_t number = 0;
    for (const Sweep& sweep : candidates_.sweeps()) {
      const int32_t* move_at = candidates_.move_at(sweep) + query.first_document;
      moves_.list(move_at, all.count, sweep);
      const auto [right_begin, left_end] = candidates_.passing_range(sweep, response.positions());
      // The left child has the same documents of the query from one move to the next.
      Subset left;
      Near before = near(left, all);
      add_far(all, response, kRight, right_begin, moves_[0].candidate);
      for (size_t k = 0; k < moves_.size();) {
        const int32_t move = moves_[k].candidate;
        for (; k < moves_.size() && moves_[k].candidate == move; ++k) {
          left.add(gain[moves_[k].document]);
        }
        const int32_t end = k < moves_.size() ? moves_[k].candidate : sweep.end;
        const Near now = near(left, all);
        near_steps_[move + number] += now - before;
        before = now;
        add_far(left, response, kLeft, move, std::min(end, left_end));
        if (left.count == all.count) continue;
        add_far({all.count - left.count, all.gain - left.gain}, response, kRight,
                std::max(move, right_begin), end);
      }
      ++number;
    }
  }

  // Lines of 0 .. m documents.
  void list_lines(int32_t m, const QueryResponse& response) {
    n_positions_ = response.positions().size();
    lines_.assign((m + 1) * n_positions_, Line{0.0, 0.0});
    lines_above_.assign(m + 1, Line{0.0, 0.0});
    lines_below_.assign(m + 1, Line{0.0, 0.0});
    for (int32_t c = 1; c <= m; ++c) {
      response.respond(c, lines_.data() + c * n_positions_);
      lines_above_[c] = response.near_above(c);
      lines_below_[c] = response.near_below(c);
    }
  }

  Near near(const Subset& left, const Subset& all) const {
    const int32_t n_right = all.count - left.count;
    const double right_gain = all.gain - left.gain;
    return {lines_above_[left.count].at(left.gain) + lines_below_[n_right].at(right_gain),
            lines_below_[left.count].at(left.gain) + lines_above_[n_right].at(right_gain)};
  }

  void add_far(const Subset& subset, const QueryResponse& response, Side side, int32_t begin,
               int32_t end) {
    const Line* line = lines_.data() + subset.count * n_positions_;
    const int32_t* position = response.positions().positions();
    const int32_t* index = candidates_.child_index() + side;
    for (int32_t i = begin; i < end; ++i) far_[i] += line[position[index[2 * i]]].at(subset.gain);
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
  std::vector<Line> lines_;
  // Few documents: of each subset.
  double near_above_[1 << kFew] = {};
  double near_below_[1 << kFew] = {};
  std::vector<double> subset_responses_;
  // Many documents.
  std::vector<Line> lines_above_;
  std::vector<Line> lines_below_;
  DocumentMoves moves_;
};

}  // namespace rankgrove::forests
