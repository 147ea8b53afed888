// Gains of a node's trials, summed up query by query.
//
// As a child grows, its score comes close to the node's, where no block of the query lies between
// the two. So a query's response is added in two parts. The *near* part, as if no block were ever
// passed, changes only where documents of the query join the left child; it depends on which child
// is above, so there are two of them, kept as differences between neighbouring trials. The *far*
// part is the rest, and is added trial by trial, up to the last one (first one, for the right
// child) that reaches beyond a block of the query.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "forests/node_queries.hpp"
#include "forests/query_response.hpp"
#include "forests/threshold_trials.hpp"

namespace rankgrove::forests {

template <typename Code>
class TrialGains {
 public:
  explicit TrialGains(const ThresholdTrials<Code>& trials) : trials_(trials) {}

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
    if (query.all.count == 1) {
      add_single(query, response);
    } else {
      add_several(query, response, document_gain + query.first_document);
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
        const bool left_above = trials_.child_points(i).left >= first_above;
        each(i, common_ + far_[i] + (left_above ? near.left_above : near.left_below));
      }
      ++step;  // documents that never join the left child
    }
  }

 private:
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

  // A single document responds alike in all walks.
  void add_single(const NodeQuery& query, const QueryResponse& response) {
    lines_.resize(response.n_places());
    response.respond(1, lines_.data());
    const double above = lines_[kAbove].at(query.all.gain);
    const double below = lines_[kBelow].at(query.all.gain);
    const PointIndex& points = trials_.points();
    const int32_t* place = response.places();
    far_at_point_.resize(static_cast<size_t>(points.size()));
    double* at_point = far_at_point_.data();
    int32_t point = 0;
    for (; point < points.first_above(); ++point) {
      at_point[point] = lines_[place[point]].at(query.all.gain) - below;
    }
    for (; point < points.size(); ++point) {
      at_point[point] = lines_[place[point]].at(query.all.gain) - above;
    }
    all_right_ += {below, above};
    const Near step{above - below, below - above};
    int32_t number = 0;
    for (const Walk& walk : trials_.walks()) {
      const int32_t join = trials_.joins(walk)[query.first_document];
      near_steps_[join + number++] += step;
      const auto [right_begin, left_end] = trials_.reach(walk, response);
      const int32_t end = std::max(join, left_end);
      for (int32_t i = std::min(join, right_begin); i < end; ++i) {
        const ChildPoints& child = trials_.child_points(i);
        far_[i] += at_point[i >= join ? child.left : child.right];
      }
    }
  }

  void add_several(const NodeQuery& query, const QueryResponse& response, const double* gain) {
    const Portion& all = query.all;
    list_lines(all.count, response);
    all_right_ += near({}, all);
    int32_t number = 0;
    for (const Walk& walk : trials_.walks()) {
      const int32_t* joins = trials_.joins(walk) + query.first_document;
      arrivals_.clear();
      for (int32_t d = 0; d < all.count; ++d) arrivals_.emplace_back(joins[d], d);
      std::sort(arrivals_.begin(), arrivals_.end());
      const auto [right_begin, left_end] = trials_.reach(walk, response);
      // The left child has the same documents of the query from one arrival to the next.
      Portion left;
      Near before = near(left, all);
      add_far_right(all, right_begin, arrivals_[0].first);
      for (size_t k = 0; k < arrivals_.size();) {
        const int32_t join = arrivals_[k].first;
        for (; k < arrivals_.size() && arrivals_[k].first == join; ++k) {
          left.add(gain[arrivals_[k].second]);
        }
        const int32_t end = k < arrivals_.size() ? arrivals_[k].first : walk.end;
        const Near now = near(left, all);
        near_steps_[join + number] += now - before;
        before = now;
        add_far_left(left, join, std::min(end, left_end));
        if (left.count == all.count) continue;
        add_far_right({all.count - left.count, all.gain - left.gain}, std::max(join, right_begin),
                      end);
      }
      ++number;
    }
  }

  // Lines of 0 .. m documents at each place.
  void list_lines(int32_t m, const QueryResponse& response) {
    n_places_ = response.n_places();
    lines_.resize((m + 1) * n_places_);
    std::fill_n(lines_.begin(), n_places_, Line{0.0, 0.0});
    for (int32_t c = 1; c <= m; ++c) response.respond(c, lines_.data() + c * n_places_);
    places_ = response.places();
  }

  Near near(const Portion& left, const Portion& all) const {
    const Line* on_left = lines_.data() + left.count * n_places_;
    const Line* on_right = lines_.data() + (all.count - left.count) * n_places_;
    const double right_gain = all.gain - left.gain;
    return {on_left[kAbove].at(left.gain) + on_right[kBelow].at(right_gain),
            on_left[kBelow].at(left.gain) + on_right[kAbove].at(right_gain)};
  }

  void add_far_left(const Portion& portion, int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; ++i) far_[i] += far_part(portion, left_point(i));
  }

  void add_far_right(const Portion& portion, int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; ++i) far_[i] += far_part(portion, right_point(i));
  }

  double far_part(const Portion& portion, int32_t point) const {
    const Line* line = lines_.data() + portion.count * n_places_;
    const Line& near = line[point < trials_.points().first_above() ? kBelow : kAbove];
    return line[places_[point]].at(portion.gain) - near.at(portion.gain);
  }

  int32_t left_point(int32_t trial) const { return trials_.child_points(trial).left; }
  int32_t right_point(int32_t trial) const { return trials_.child_points(trial).right; }

  static constexpr int32_t kAbove = QueryResponse::kJustAbove;
  static constexpr int32_t kBelow = QueryResponse::kJustBelow;

  const ThresholdTrials<Code>& trials_;
  double common_ = 0.0;           // to all trials
  Near all_right_;                // as long as nothing is on the left
  std::vector<Near> near_steps_;  // at each trial, and one more for each walk
  std::vector<double> far_;       // of each trial

  // The query at hand.
  std::vector<Line> lines_;
  size_t n_places_ = 0;
  const int32_t* places_ = nullptr;  // of the points
  std::vector<double> far_at_point_;
  std::vector<std::pair<int32_t, int32_t>> arrivals_;  // trial, document
};

}  // namespace rankgrove::forests
