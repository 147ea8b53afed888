// Gains of a node's trials, summed up query by query.
//
// As a child grows, its score comes close to the node's, where no block of the query lies between
// the two. So a query's response is added in two parts. The near part changes only where documents
// of the query join the left child; it depends on which child is above, so there are two of them,
// kept as differences between neighbouring trials. The far part is added trial by trial, up to the
// last one (first one, for the right child) that reaches beyond a block of the query.
//
// The far part of a *portion*, some of the query's documents, is listed for all points, if the
// query has only a few documents in the node and so a few portions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/listwise/leaf_table.hpp"
#include "forests/listwise/node_queries.hpp"
#include "forests/listwise/query_response.hpp"
#include "forests/listwise/threshold_trials.hpp"

namespace rankgrove::forests {

template <typename Code>
class TrialGains {
 public:
  using Table = LeafTable;

  TrialGains(const ForestData& data, const LeafTable& leaves, const ThresholdTrials<Code>& trials)
      : leaves_(leaves), trials_(trials), response_(data.targets.metric, leaves) {}

  // Finds the gains of all trials of a node with this score.
  void find(const NodeQueries& node_queries, const NodeRows&, double score) {
    start();
    const std::vector<NodeQuery>& queries = node_queries.all();
    for (size_t i = 0; i < std::min<size_t>(2, queries.size()); ++i) {
      leaves_.prefetch_scores(queries[i].query);
    }
    for (size_t i = 0; i < queries.size(); ++i) {
      if (i + 2 < queries.size()) leaves_.prefetch_scores(queries[i + 2].query);
      if (i + 1 < queries.size()) leaves_.prefetch(queries[i + 1].query, score);
      response_.start(queries[i], score, trials_.points());
      add(queries[i], response_, node_queries.gains());
    }
  }

  // Calls each(trial, gain) for all trials in order.
  template <typename Each>
  void visit(Each&& each) const {
    const int32_t first_above = trials_.points().first_above();
    size_t step = 0;
    for (const Walk& walk : trials_.walks()) {
      Near near = all_right_;
      for (int32_t i = walk.begin; i < walk.end; ++i) {
        near += near_steps_[step++];
        const bool left_above = trials_.child_points()[2 * i] >= first_above;
        each(i, common_ + far_[i] + (left_above ? near.left_above : near.left_below));
      }
      ++step;  // documents that never join the left child
    }
  }

 private:
  void start() {
    const auto n = static_cast<size_t>(trials_.size());
    common_ = 0.0;
    all_right_ = {};
    far_.assign(n, 0.0);
    near_steps_.assign(n + trials_.walks().size(), {});
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

  // Portions are sets of documents, one bit each.
  void add_few(const NodeQuery& query, const QueryResponse& response, const double* gain) {
    const int32_t m = query.all.count;
    const int32_t all = (1 << m) - 1;
    list_portions(m, response, gain);
    all_right_ += near_few(0, all);
    int32_t number = 0;
    for (const Walk& walk : trials_.walks()) {
      const int32_t* joins = trials_.joins(walk) + query.first_document;
      const auto [right_begin, left_end] = trials_.reach(walk, response.places());
      int32_t left = 0;
      int32_t from = walk.begin;
      while (true) {
        const int32_t right = all - left;
        const int32_t to = right == 0 ? walk.end : first_join(joins, m, right);
        if (left > 0) add_far_few(left, response, kLeft, from, std::min(to, left_end));
        if (right == 0) break;
        add_far_few(right, response, kRight, std::max(from, right_begin), to);
        const Near before = near_few(left, all);
        for (int32_t d = 0; d < m; ++d) left |= (joins[d] == to) << d;
        near_steps_[to + number] += near_few(left, all) - before;
        if (to == walk.end) break;
        from = to;
      }
      ++number;
    }
  }

  static int32_t first_join(const int32_t* joins, int32_t m, int32_t portion) {
    int32_t first = std::numeric_limits<int32_t>::max();
    for (int32_t d = 0; d < m; ++d) {
      if (portion >> d & 1) first = std::min(first, joins[d]);
    }
    return first;
  }

  // Lists the near and far parts of all portions.
  void list_portions(int32_t m, const QueryResponse& response, const double* gain) {
    n_places_ = response.places().size();
    lines_.resize(n_places_);
    portions_.resize(n_places_ << m);
    for (int32_t c = 1; c <= m; ++c) {
      if (c > 1) response.respond(c, lines_.data());
      const Line above = response.near_above(c);
      const Line below = response.near_below(c);
      for (int32_t portion = 1; portion < 1 << m; ++portion) {
        if (std::popcount(static_cast<uint32_t>(portion)) != c) continue;
        double sum = 0.0;
        for (int32_t d = 0; d < m; ++d) sum += portion >> d & 1 ? gain[d] : 0.0;
        near_above_[portion] = above.at(sum);
        near_below_[portion] = below.at(sum);
        double* far = portions_.data() + portion * n_places_;
        if (c == 1) {
          response.respond(sum, far);
        } else {
          for (size_t i = 0; i < n_places_; ++i) far[i] = lines_[i].at(sum);
        }
      }
    }
  }

  Near near_few(int32_t left, int32_t all) const {
    return {near_above_[left] + near_below_[all - left],
            near_below_[left] + near_above_[all - left]};
  }

  void add_far_few(int32_t portion, const QueryResponse& response, Side side, int32_t begin,
                   int32_t end) {
    const double* far = portions_.data() + portion * n_places_;
    const int32_t* place = response.places().places();
    const int32_t* point = trials_.child_points() + side;
    for (int32_t i = begin; i < end; ++i) far_[i] += far[place[point[2 * i]]];
  }

  void add_many(const NodeQuery& query, const QueryResponse& response, const double* gain) {
    const Portion& all = query.all;
    list_lines(all.count, response);
    all_right_ += near({}, all);
    int32_t number = 0;
    for (const Walk& walk : trials_.walks()) {
      const int32_t* joins = trials_.joins(walk) + query.first_document;
      arrivals_.clear();
      for (int32_t d = 0; d < all.count; ++d) arrivals_.emplace_back(joins[d], d);
      std::sort(arrivals_.begin(), arrivals_.end());
      const auto [right_begin, left_end] = trials_.reach(walk, response.places());
      // The left child has the same documents of the query from one arrival to the next.
      Portion left;
      Near before = near(left, all);
      add_far(all, response, kRight, right_begin, arrivals_[0].first);
      for (size_t k = 0; k < arrivals_.size();) {
        const int32_t join = arrivals_[k].first;
        for (; k < arrivals_.size() && arrivals_[k].first == join; ++k) {
          left.add(gain[arrivals_[k].second]);
        }
        const int32_t end = k < arrivals_.size() ? arrivals_[k].first : walk.end;
        const Near now = near(left, all);
        near_steps_[join + number] += now - before;
        before = now;
        add_far(left, response, kLeft, join, std::min(end, left_end));
        if (left.count == all.count) continue;
        add_far({all.count - left.count, all.gain - left.gain}, response, kRight,
                std::max(join, right_begin), end);
      }
      ++number;
    }
  }

  // Lines of 0 .. m documents.
  void list_lines(int32_t m, const QueryResponse& response) {
    n_places_ = response.places().size();
    lines_.assign((m + 1) * n_places_, Line{0.0, 0.0});
    lines_above_.assign(m + 1, Line{0.0, 0.0});
    lines_below_.assign(m + 1, Line{0.0, 0.0});
    for (int32_t c = 1; c <= m; ++c) {
      response.respond(c, lines_.data() + c * n_places_);
      lines_above_[c] = response.near_above(c);
      lines_below_[c] = response.near_below(c);
    }
  }

  Near near(const Portion& left, const Portion& all) const {
    const int32_t n_right = all.count - left.count;
    const double right_gain = all.gain - left.gain;
    return {lines_above_[left.count].at(left.gain) + lines_below_[n_right].at(right_gain),
            lines_below_[left.count].at(left.gain) + lines_above_[n_right].at(right_gain)};
  }

  void add_far(const Portion& portion, const QueryResponse& response, Side side, int32_t begin,
               int32_t end) {
    const Line* line = lines_.data() + portion.count * n_places_;
    const int32_t* place = response.places().places();
    const int32_t* point = trials_.child_points() + side;
    for (int32_t i = begin; i < end; ++i) far_[i] += line[place[point[2 * i]]].at(portion.gain);
  }

  const LeafTable& leaves_;
  const ThresholdTrials<Code>& trials_;
  QueryResponse response_;
  double common_ = 0.0;           // to all trials
  Near all_right_;                // as long as nothing is on the left
  std::vector<Near> near_steps_;  // at each trial, and one more for each walk
  std::vector<double> far_;       // of each trial

  // The query at hand.
  size_t n_places_ = 0;
  std::vector<Line> lines_;
  // Few documents: of each portion.
  double near_above_[1 << kFew] = {};
  double near_below_[1 << kFew] = {};
  std::vector<double> portions_;
  // Many documents.
  std::vector<Line> lines_above_;
  std::vector<Line> lines_below_;
  std::vector<std::pair<int32_t, int32_t>> arrivals_;  // trial, document
};

}  // namespace rankgrove::forests
