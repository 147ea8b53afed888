// Splits that raise the mean metric of all queries of the tree's sample the most, given the scores
// of all other leaves (Ibrahim and Carman, equations 11-13).
//
// A split of node v, of score s, sends c of a query's m documents to a child of score x and the
// rest to the other child, on the other side of s. Only blocks between the children's scores move.
// Let a be the mean gain of the c documents; if they pass a block (n documents from rank S on, mean
// gain b) on their way up from s, the query's DCG changes by
//
//   (a - b) * (D[S + c] - D[S] - D[S + n + c] + D[S + n]),
//
// D being the running sum of discounts, and likewise on the way down. So a query's part in the gain
// is the sum of two step functions, one of either child's score, with a step at each of its blocks.
//
// Walking the thresholds of a feature, the left child receives documents in the order of their
// codes. Its score is known for all thresholds beforehand, so the step functions of all queries are
// kept as one StepSum over these scores: a query whose portion of the child grows replaces its
// steps by new ones, and the gain at a threshold is the value of the sum at the child's score
// there. The right child is the same walk from the other end. A feature costs (documents of the
// node) x (blocks of their queries between the children's extreme scores), however many leaves or
// queries there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "forests/candidate_list.hpp"
#include "forests/criteria/class_counts.hpp"
#include "forests/forest_data.hpp"
#include "forests/leaf_table.hpp"
#include "forests/node_codes.hpp"
#include "forests/options.hpp"
#include "forests/split.hpp"
#include "forests/step_sum.hpp"

namespace rankgrove::forests {

template <typename Code>
class ListwiseSplitter final : public NodeSplitter<Code> {
 public:
  // `total_weight` is the weight of all queries of the sample.
  ListwiseSplitter(const ForestData& data, const GrowOptions& options, const LeafTable& leaves,
                   double total_weight)
      : data_(data),
        options_(options),
        leaves_(leaves),
        total_weight_(total_weight),
        discounts_(data.metric.cumulative.data()),
        sums_(data),
        codes_(data),
        draw_(data.binned->n_features()),
        list_(data),
        lowest_target_(*std::min_element(data.target.begin(), data.target.end())),
        highest_target_(*std::max_element(data.target.begin(), data.target.end())) {}

  Split find(const NodeRows& documents, const WaitingNode& node, Random& random) override {
    score_ = node.value;
    score_cells_ = ScoreCells(lowest_target_, highest_target_, node.size());
    collect_queries(documents, random);
    best_ = Split{};
    best_gain_ =
        options_.min_gain * total_weight_ + kGainNoise * static_cast<double>(queries_.size());
    if (queries_.empty()) return best_;
    visit_drawn_features(draw_, options_.max_features, codes_, documents.rows, documents.n,
                         features_, random,
                         [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
                           slot_ = slot;
                           try_feature(codes_.codes(slot), feature, low, high, random);
                           return true;
                         });
    if (best_.found()) {
      best_.gain = best_gain_ / total_weight_;
      best_.bin = list_.centered_bin(best_, best_next_);
    }
    return best_;
  }

  const Code* split_codes() const override { return codes_.codes(best_slot_); }

 private:
  // A query with documents in the node.
  struct NodeQuery {
    const Block* blocks;
    int32_t n_blocks;
    int32_t own_block;    // the one that holds the node's documents
    int64_t first_block;  // in block_cell_ and block_mean_
    int64_t first_passage;
    int32_t count;       // m: documents in the node
    double gain;         // of these
    int32_t start;       // of the own block
    int32_t tied_count;  // documents of other leaves in the own block
    double tied_mean;    // their mean gain
    double scale;
    double just_above = 0;  // first steps of a single document
    double just_below = 0;
    Portion child;  // what the growing child has received so far
  };

  // A threshold of the feature at hand.
  struct Candidate {
    int32_t entry;  // the last one on the left, in the order of the walk
    int32_t bin;
    int32_t next;
    bool missing_left;
    double left_score;
    double right_score;
    double gain;
  };

  double share(int32_t from, int32_t to) const { return discounts_[to] - discounts_[from]; }

  void collect_queries(const NodeRows& documents, Random& random) {
    const int32_t* rows = documents.rows;
    const int64_t n = documents.n;
    queries_.clear();
    block_cell_.clear();
    block_mean_.clear();
    passage_.clear();
    items_.resize(static_cast<size_t>(n));
    query_of_doc_.resize(static_cast<size_t>(n));
    gain_.resize(static_cast<size_t>(n));
    unsplit_ = 0.0;
    int64_t begin = 0;
    while (begin < n) {
      const int32_t query = data_.query_of_row[rows[begin]];
      const int64_t last_row = data_.offsets[query + 1];
      int64_t end = begin;
      Portion all;
      for (; end < n && rows[end] < last_row; ++end) {
        items_[end] = sums_.item(documents, end);
        gain_[end] = data_.metric.gain[rows[end]];
        all.add(gain_[end]);
      }
      const bool counts =
          data_.metric.scale[query] > 0 &&
          (options_.query_fraction >= 1 || random.uniform() < options_.query_fraction);
      const auto number = static_cast<int32_t>(counts ? queries_.size() : -1);
      std::fill(query_of_doc_.begin() + begin, query_of_doc_.begin() + end, number);
      if (counts) add_query(query, all);
      begin = end;
    }
  }

  void add_query(int32_t query, const Portion& all) {
    NodeQuery result;
    result.blocks = leaves_.blocks(query);
    result.n_blocks = leaves_.size(query);
    result.own_block = leaves_.find(query, score_);
    const Block& own = result.blocks[result.own_block];
    result.count = all.count;
    result.start = own.start;
    result.tied_count = own.count - all.count;
    result.tied_mean = result.tied_count > 0 ? (own.gain_sum - all.gain) / result.tied_count : 0.0;
    result.scale = data_.metric.scale[query];
    result.gain = all.gain;
    list_blocks(result);
    queries_.push_back(result);
    // What the own block is worth when only the tied documents of other leaves are left in it, less
    // what it is worth now.
    const double tied = result.tied_mean * share(own.start, own.start + result.tied_count);
    unsplit_ += result.scale * (tied - own.gain_mean * share(own.start, own.start + own.count));
  }

  void try_feature(const Code* codes, int32_t feature, int32_t low, int32_t high, Random& random) {
    const auto n = static_cast<int64_t>(items_.size());
    list_.build(codes, items_.data(), n, low, high, sums_, cells_);
    sort_documents(codes, n, low, high);
    list_candidates(feature, random);
    // Walks with the missing values on the right and on the left are walks in different orders.
    const auto middle =
        std::find_if(candidates_.begin(), candidates_.end(),
                     [](const Candidate& candidate) { return candidate.missing_left; });
    walk({candidates_.begin(), middle}, false);
    walk({middle, candidates_.end()}, true);
    for (const Candidate& candidate : candidates_) {
      if (candidate.gain > best_gain_) {
        best_gain_ = candidate.gain;
        best_.feature = feature;
        best_.bin = candidate.bin;
        best_.missing_left = candidate.missing_left;
        best_next_ = candidate.next;
        best_slot_ = slot_;
      }
    }
  }

  // Documents by entry of the list, in their old order (query by query) within an entry.
  void sort_documents(const Code* codes, int64_t n, int32_t low, int32_t high) {
    entry_of_code_.resize(static_cast<size_t>(high - low + 1));
    for (int32_t entry = 0; entry < list_.size(); ++entry) {
      entry_of_code_[list_.code(entry) - low] = entry;
    }
    entry_end_.assign(static_cast<size_t>(list_.size()) + 1, 0);
    for (int64_t i = 0; i < n; ++i) ++entry_end_[entry_of_code_[codes[i] - low] + 1];
    for (int32_t entry = 0; entry < list_.size(); ++entry)
      entry_end_[entry + 1] += entry_end_[entry];
    by_entry_.resize(static_cast<size_t>(n));
    // Each entry's beginning moves to its end, which is where the next one began.
    for (int64_t i = 0; i < n; ++i) {
      by_entry_[entry_end_[entry_of_code_[codes[i] - low]]++] = static_cast<int32_t>(i);
    }
  }

  void list_candidates(int32_t feature, Random& random) {
    candidates_.clear();
    double left[3] = {0, 0, 0};
    double total[3] = {0, 0, 0};
    int32_t last = 0;
    for (int32_t entry = 0; entry < list_.size(); ++entry) add_cell(total, entry);
    list_.for_each_threshold(
        feature, options_.threshold_fraction, random,
        [&](bool first, int32_t entry) {
          if (first) std::fill(left, left + 3, 0.0);
          add_cell(left, entry);
          last = entry;
        },
        [&](int32_t bin, int32_t next, bool missing_left) {
          const double right[3] = {total[0] - left[0], total[1] - left[1], total[2] - left[2]};
          const auto least = static_cast<double>(options_.min_samples_leaf);
          if (left[2] < least || right[2] < least || left[0] <= 0 || right[0] <= 0) return;
          const double left_score = left[1] / left[0];
          const double right_score = right[1] / right[0];
          // Children that keep the node's score change nothing.
          if (!(left_score > score_ && right_score < score_) &&
              !(left_score < score_ && right_score > score_)) {
            return;
          }
          candidates_.push_back({last, bin, next, missing_left, left_score, right_score, unsplit_});
        });
  }

  void add_cell(double* sum, int32_t entry) const {
    const double* cell = cells_.data() + list_.offset(entry);
    for (int c = 0; c < 3; ++c) sum[c] += cell[c];
  }

  struct Range {
    double lowest, highest;
  };

  struct Candidates {
    typename std::vector<Candidate>::iterator first, last;
    bool empty() const { return first == last; }
  };

  // Adds what either child does to the gain of each candidate.
  void walk(const Candidates& candidates, bool missing_left) {
    if (candidates.empty()) return;
    const int32_t n_entries = list_.size();
    start_child(candidates.first, candidates.last, &Candidate::left_score);
    if (missing_left) receive(n_entries - 1);
    int32_t entry = 0;
    for (auto candidate = candidates.first; candidate != candidates.last; ++candidate) {
      while (entry <= candidate->entry) receive(entry++);
      candidate->gain += next_value();
    }
    start_child(std::make_reverse_iterator(candidates.last),
                std::make_reverse_iterator(candidates.first), &Candidate::right_score);
    entry = missing_left ? n_entries - 2 : n_entries - 1;
    for (auto candidate = candidates.last; candidate != candidates.first;) {
      --candidate;
      while (entry > candidate->entry) receive(entry--);
      candidate->gain += next_value();
    }
  }

  // Begins with an empty child that will have these scores, in this order.
  template <typename Iterator>
  void start_child(Iterator first, Iterator last, double Candidate::* child_score) {
    points_.clear();
    for (auto it = first; it != last; ++it) points_.push_back(*it.*child_score);
    // A child's score comes closer to the node's as it grows: the scores still to come span less
    // and less, and only blocks between them matter.
    to_come_.resize(points_.size());
    Range range{points_.back(), points_.back()};
    for (size_t i = points_.size(); i-- > 0;) {
      range = {std::min(range.lowest, points_[i]), std::max(range.highest, points_[i])};
      to_come_[i] = range;
    }
    steps_.start(points_, score_, score_cells_);
    first_above_ = steps_.below(score_);
    next_point_ = 0;
    for (NodeQuery& query : queries_) query.child = {};
  }

  // Value at the child's next score.
  double next_value() {
    const double value = steps_.at(points_[next_point_++]);
    if (next_point_ < points_.size()) {
      steps_.narrow(to_come_[next_point_].lowest, to_come_[next_point_].highest);
    }
    return value;
  }

  // The documents of an entry join the growing child.
  void receive(int32_t entry) {
    const int64_t end = entry_end_[entry];
    int64_t i = entry == 0 ? 0 : entry_end_[entry - 1];
    while (i < end) {
      const int32_t number = query_of_doc_[by_entry_[i]];
      Portion added;
      for (; i < end && query_of_doc_[by_entry_[i]] == number; ++i) added.add(gain_[by_entry_[i]]);
      if (number < 0) continue;
      grow_portion(queries_[number], added);
    }
  }

  // Lists what all features need of a query's blocks: cell, mean gain, and the *passage* for each
  // number c of documents up to m. If c documents pass the block on their way up, the DCG changes
  // by (their mean gain - the block's) * passage; on their way down by as much, with the other
  // sign.
  void list_blocks(NodeQuery& query) {
    query.first_block = static_cast<int64_t>(block_cell_.size());
    query.first_passage = static_cast<int64_t>(passage_.size());
    const int32_t n_blocks = query.n_blocks;
    for (int32_t i = 0; i < n_blocks; ++i) {
      block_cell_.push_back(score_cells_(query.blocks[i].score));
      block_mean_.push_back(query.blocks[i].gain_mean);
    }
    passage_.resize(passage_.size() + static_cast<size_t>(query.count) * n_blocks);
    double* passage = passage_.data() + query.first_passage;
    for (int32_t c = 1; c <= query.count; ++c) {
      for (int32_t i = 0; i < n_blocks; ++i) {
        // Below s, the documents come from above the block.
        const int32_t begin = query.blocks[i].start - (i > query.own_block ? c : 0);
        const int32_t end = begin + query.blocks[i].count;
        *passage++ = i == query.own_block
                         ? 0.0
                         : query.scale * (share(begin, begin + c) - share(end, end + c));
      }
    }
    if (query.count > 1) return;
    // A single document: its steps are the same for all features.
    query.just_above = just_above(query, 1, query.gain);
    query.just_below = just_below(query, 1, query.gain);
    double* step = passage_.data() + query.first_passage;
    const double* mean = block_mean_.data() + query.first_block;
    for (int32_t i = 0; i < n_blocks; ++i) step[i] *= query.gain - mean[i];
  }

  // A query's portion of the child grows: its old step function is taken from the sum and its new
  // one added.
  void grow_portion(NodeQuery& query, const Portion& added) {
    const Portion before = query.child;
    query.child.count += added.count;
    query.child.gain += added.gain;
    const Portion& after = query.child;
    const double* passage = passage_.data() + query.first_passage;
    if (query.count == 1) {
      add_steps(query, before, after, query.just_above, query.just_below,
                [passage](int32_t block) { return passage[block]; });
      return;
    }
    const int32_t n = query.n_blocks;
    const double* mean = block_mean_.data() + query.first_block;
    const double* passage1 = passage + static_cast<int64_t>(after.count - 1) * n;
    const double mean1 = after.gain / after.count;
    double above = just_above(query, after.count, mean1);
    double below = just_below(query, after.count, mean1);
    if (before.count == 0) {
      add_steps(query, before, after, above, below,
                [=](int32_t block) { return (mean1 - mean[block]) * passage1[block]; });
      return;
    }
    const double* passage0 = passage + static_cast<int64_t>(before.count - 1) * n;
    const double mean0 = before.gain / before.count;
    above -= just_above(query, before.count, mean0);
    below -= just_below(query, before.count, mean0);
    add_steps(query, before, after, above, below, [=](int32_t block) {
      return (mean1 - mean[block]) * passage1[block] - (mean0 - mean[block]) * passage0[block];
    });
  }

  template <typename StepAt>
  void add_steps(const NodeQuery& query, const Portion& before, const Portion& after, double above,
                 double below, StepAt&& step_at) {
    const uint16_t* cell = block_cell_.data() + query.first_block;
    if (steps_.highest() > score_) {
      steps_.add_from(first_above_, above);
      const int32_t highest = steps_.highest_cell();
      for (int32_t i = query.own_block - 1; i >= 0 && cell[i] <= highest; --i) {
        const double step = step_at(i);
        if (steps_.has_point(cell[i])) {
          add_step_above(query, query.blocks[i], step, before, after);
        } else {
          steps_.add_from(steps_.below_cell(cell[i]), step);
        }
      }
    }
    if (steps_.lowest() < score_) {
      double everywhere = below;
      steps_.add_from(first_above_, -below);
      const int32_t lowest = steps_.lowest_cell();
      for (int32_t i = query.own_block + 1; i < query.n_blocks && cell[i] >= lowest; ++i) {
        const double step = step_at(i);
        everywhere -= step;
        if (steps_.has_point(cell[i])) {
          add_step_below(query, query.blocks[i], step, before, after);
        } else {
          steps_.add_from(steps_.below_cell(cell[i]), step);
        }
      }
      steps_.add_everywhere(everywhere);
    }
  }

  // Steps at a block that may have the very score of the child at some threshold.
  void add_step_above(const NodeQuery& query, const Block& block, double step,
                      const Portion& before, const Portion& after) {
    const int32_t at = steps_.below(block.score);
    if (!steps_.is_point(at, block.score)) {
      steps_.add_from(at, step);
      return;
    }
    const double joined = query.scale * (joined_above(block, after) - joined_above(block, before));
    steps_.add_from(at, joined);
    steps_.add_from(at + 1, step - joined);
  }

  void add_step_below(const NodeQuery& query, const Block& block, double step,
                      const Portion& before, const Portion& after) {
    const int32_t at = steps_.below(block.score);
    steps_.add_from(at, step);
    if (!steps_.is_point(at, block.score)) return;
    const double joined = query.scale * (joined_below(block, after) - joined_below(block, before));
    steps_.add_from(at, joined);
    steps_.add_from(at + 1, -joined);
  }

  // Just above s: the child's c documents come before the tied ones of other leaves.
  double just_above(const NodeQuery& query, int32_t c, double mean) const {
    const int32_t start = query.start;
    const int32_t tied = query.tied_count;
    return query.scale *
           (mean * share(start, start + c) +
            query.tied_mean * (share(start + c, start + c + tied) - share(start, start + tied)));
  }

  // Just below s: the child's c documents come last of what the own block held.
  double just_below(const NodeQuery& query, int32_t c, double mean) const {
    const int32_t end = query.start + query.tied_count + query.count;
    return query.scale * mean * share(end - c, end);
  }

  // The child's documents tie with a block above s, less what both are worth when they are below
  // it.
  double joined_above(const Block& block, const Portion& portion) const {
    const int32_t c = portion.count;
    if (c == 0) return 0.0;
    const int32_t begin = block.start;
    const int32_t end = begin + block.count;
    return (portion.gain + block.gain_sum) / (c + block.count) * share(begin, end + c) -
           block.gain_mean * share(begin, end) - portion.gain / c * share(end, end + c);
  }

  // The child's documents tie with a block below s, less what both are worth when they are above
  // it.
  double joined_below(const Block& block, const Portion& portion) const {
    const int32_t c = portion.count;
    if (c == 0) return 0.0;
    const int32_t begin = block.start;
    const int32_t end = begin + block.count;
    return (portion.gain + block.gain_sum) / (c + block.count) * share(begin - c, end) -
           block.gain_mean * share(begin, end) - portion.gain / c * share(begin - c, begin);
  }

  const ForestData& data_;
  const GrowOptions& options_;
  const LeafTable& leaves_;
  double total_weight_;
  const double* discounts_;
  Moments sums_;
  NodeCodes<Code> codes_;
  FeatureDraw draw_;
  CandidateList<Code> list_;
  double lowest_target_, highest_target_;
  ScoreCells score_cells_;
  StepSum steps_;

  // The node.
  double score_ = 0.0;
  double unsplit_ = 0.0;
  std::vector<NodeQuery> queries_;
  std::vector<uint16_t> block_cell_;
  std::vector<double> block_mean_;
  std::vector<double> passage_;
  std::vector<Moments::Item> items_;
  std::vector<int32_t> query_of_doc_;  // number in queries_, -1 if it does not count
  std::vector<double> gain_;

  // The feature.
  std::vector<int32_t> features_;
  std::vector<double> cells_;
  std::vector<int32_t> entry_of_code_;
  std::vector<int64_t> entry_end_;
  std::vector<int32_t> by_entry_;
  std::vector<Candidate> candidates_;
  std::vector<double> points_;
  std::vector<Range> to_come_;  // of the scores from each point of the walk on
  size_t next_point_ = 0;
  int32_t first_above_ = 0;

  int32_t slot_ = 0;  // of the feature at hand
  int32_t best_slot_ = 0;
  Split best_;
  double best_gain_ = 0.0;
  int32_t best_next_ = 0;
};

}  // namespace rankgrove::forests
