// Splits that raise the mean metric of all queries of the tree's sample the most, given the scores
// of all other leaves (Ibrahim and Carman, equations 11-13).
//
// The gain of a threshold is a sum over the queries of the node, each of which responds to the
// scores of the two children (see query_response.hpp). Query by query, its response to all scores
// that any threshold gives to a child is listed once, for all features; then it is added to the
// gains of all thresholds where it is not the same as at the one before (see candidate_gains.hpp).
// README.md explains the words.
//
// Example: the root holds six documents of the queries A and B, their mean target is its score 1.
//   document   a1  b1  a2  b2  a3  b3
//   target     0   0   1   1   2   2
//   gain       0   0   1   1   3   3         2^target - 1
//   code       0   0   1   2   3   3         three thresholds: after code 0, 1 and 2
// Unsplit, all documents of a query are tied: its DCG is the mean gain times the sum of discounts,
// 4/3 * (1 + 0.631 + 0.5) = 2.841, its ideal DCG 3 + 0.631 = 3.631.
//   threshold  A's ranking         DCG     A's change  B's change  gain
//   after 0    {a2 a3} {a1}        3.262   0.116       0.116       0.232
//   after 1    {a3} {a1 a2}        3.565   0.199       0.116       0.315
//   after 2    {a3} {a1 a2}        3.565   0.199       0.199       0.399   the best
// From the first threshold to the second only a2 move_at the left child: A's part of the gain
// changes, B's stays. All of it is near. If A had another document in a leaf of score 1.6, then the
// right child would pass it at the last two thresholds (5/3 and 2, but not 3/2), and these two
// would get a far part as well.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/listwise/node_queries.hpp"
#include "forests/listwise/split_candidates.hpp"
#include "forests/nodes/node_codes.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

// Gains finds the gains of candidates: CandidateGains, BlockGains or
// FunctionGains.
template <typename Code, typename Gains>
class ListwiseSplitter final : public NodeSplitter<Code> {
 public:
  // `total_weight` is the weight of all queries of the sample.
  ListwiseSplitter(const ForestData& data, const ForestOptions& options,
                   const typename Gains::Table& leaves, double total_weight)
      : options_(options),
        total_weight_(total_weight),
        codes_(data.features),
        ranks_(data.features, &data.targets),
        draw_(data.features.binned->n_features()),
        queries_(data),
        candidates_(data, options),
        gains_(data, leaves, candidates_) {}

  NodeSplit find(const NodeRows& documents, const WaitingNode& node, Random& random) override {
    score_ = node.value;
    best_ = NodeSplit{};
    queries_.collect(documents, options_.query_fraction, random);
    const std::vector<NodeQuery>& queries = queries_.all();
    if (queries.empty()) return best_;
    best_gain_ =
        options_.min_gain * total_weight_ + kGainNoise * static_cast<double>(queries.size());
    candidates_.start_node(documents, score_);
    visit_drawn_features(
        draw_, options_.max_features, options_.redraw, codes_, ranks_, documents, features_, random,
        [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
          candidates_.add_feature(codes_.codes(slot), slot, feature, low, high, random);
          if (candidates_.full()) evaluate_candidates(documents);
          return true;
        });
    evaluate_candidates(documents);
    if (best_.found()) {
      best_.gain = best_gain_ / total_weight_;
      best_.bin = candidates_.centered_bin(best_, best_next_);
    }
    return best_;
  }

  const Code* split_codes() const override { return codes_.codes(best_slot_); }
  std::span<const int32_t> split_categories() const override {
    return ranks_.categories(best_slot_);
  }

 private:
  // Keeps the best of the candidates so far, and forgets the others.
  void evaluate_candidates(const NodeRows& documents) {
    if (candidates_.size() == 0) return;
    candidates_.index_child_scores();
    gains_.find(queries_, documents, score_);
    gains_.visit([&](int32_t number, double gain) {
      if (!(gain > best_gain_)) return;
      const SplitCandidate& candidate = candidates_[number];
      best_gain_ = gain;
      best_.feature = candidate.feature;
      best_.bin = candidate.bin;
      best_.missing_left = candidate.missing_left;
      best_next_ = candidate.next;
      best_slot_ = candidate.slot;
    });
    candidates_.clear();
  }

  const ForestOptions& options_;
  double total_weight_;
  NodeCodes<Code> codes_;
  CategoryRanks<Code> ranks_;
  FeatureDraw draw_;
  NodeQueries queries_;
  SplitCandidates<Code> candidates_;
  Gains gains_;
  std::vector<int32_t> features_;

  double score_ = 0.0;  // of the node
  NodeSplit best_;
  double best_gain_ = 0.0;
  int32_t best_next_ = 0;
  int32_t best_slot_ = 0;
};

}  // namespace rankgrove::forests
