// The best splits by a user's criterion, among the candidates of PointwiseSplitter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "forests/criteria/custom.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/nodes/candidate_list.hpp"
#include "forests/nodes/node_codes.hpp"
#include "forests/nodes/node_splitter.hpp"
#include "forests/pointwise/random_threshold.hpp"

namespace rankgrove::forests {

template <typename Code>
class CustomSplitter final : public NodeSplitter<Code> {
 public:
  CustomSplitter(const ForestData& data, const ForestOptions& options, double sample_weight)
      : data_(data),
        options_(options),
        sums_(data.targets),
        sample_weight_(sample_weight),
        codes_(data.features),
        ranks_(data.features, options.splitter == Splitter::kBest ? &data.targets : nullptr),
        draw_(data.features.binned->n_features()),
        list_(data.features),
        total_(sums_.stride()),
        left_sums_(sums_.stride()) {}

  NodeSplit find(const NodeRows& documents, const WaitingNode&, Random& random) override {
    items_.clear();
    std::fill(total_.begin(), total_.end(), 0.0);
    for (int64_t i = 0; i < documents.n; ++i) {
      items_.push_back(sums_.item(documents, i));
      sums_.add(total_.data(), items_.back());
    }
    best_ = NodeSplit{};
    best_gain_ = options_.min_gain + kGainNoise;
    visit_drawn_features(draw_, options_.max_features, options_.redraw, codes_, ranks_, documents,
                         features_, random,
                         [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
                           list_candidates(codes_.codes(slot), feature, low, high, random);
                           judge(slot);
                           return true;
                         });
    if (best_.found()) {
      best_.gain = best_gain_ * total_[0] / sample_weight_;
      if (options_.splitter == Splitter::kBest) best_.bin = list_.centered_bin(best_, best_next_);
    }
    return best_;
  }

  const Code* split_codes() const override { return codes_.codes(best_slot_); }
  std::span<const int32_t> split_categories() const override {
    return ranks_.categories(best_slot_);
  }

 private:
  struct Candidate {
    NodeSplit split;
    int32_t next;  // smallest code on the right
  };

  void list_candidates(const Code* codes, int32_t feature, int32_t low, int32_t high,
                       Random& random) {
    candidates_.clear();
    left_.clear();
    right_.clear();
    const auto n = static_cast<int64_t>(items_.size());
    if (options_.splitter == Splitter::kBest) {
      list_.build(codes, items_.data(), n, low, high, sums_, cells_);
      list_.for_each_threshold(
          feature, options_.threshold_fraction, random,
          [&](bool first, int32_t entry) {
            if (first) std::fill(left_sums_.begin(), left_sums_.end(), 0.0);
            const double* cell = cells_.data() + list_.offset(entry);
            for (int32_t s = 0; s < sums_.stride(); ++s) left_sums_[s] += cell[s];
          },
          [&](int32_t bin, int32_t next, bool missing_left) {
            add_candidate({feature, bin, missing_left}, next);
          });
      return;
    }
    NodeSplit split;
    if (!draw_threshold(data_.features, codes, n, feature, low, high, false, random, split)) return;
    std::fill(left_sums_.begin(), left_sums_.end(), 0.0);
    const int32_t missing_bin = data_.features.binned->missing_bin(feature);
    for (int64_t i = 0; i < n; ++i) {
      if (split.goes_left(codes[i], missing_bin)) sums_.add(left_sums_.data(), items_[i]);
    }
    add_candidate(split, split.bin + 1);
  }

  // A candidate whose left child has the sums left_sums_.
  void add_candidate(const NodeSplit& split, int32_t next) {
    const int64_t n_left = sums_.n_docs(left_sums_.data());
    const int64_t n_right = sums_.n_docs(total_.data()) - n_left;
    if (std::min(n_left, n_right) < options_.min_samples_leaf) return;
    candidates_.push_back({split, next});
    for (int32_t s = 0; s < sums_.n_sums(); ++s) {
      left_.push_back(left_sums_[s]);
      right_.push_back(total_[s] - left_sums_[s]);
    }
  }

  void judge(int32_t slot) {
    if (candidates_.empty()) return;
    const CustomCriterion& criterion = options_.custom;
    gains_.resize(candidates_.size());
    criterion.evaluate(left_, right_, static_cast<int64_t>(candidates_.size()), sums_.n_sums(),
                       gains_);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (!(gains_[i] <= std::numeric_limits<double>::max())) {
        throw std::invalid_argument("the criterion " + criterion.name + " returned " +
                                    std::to_string(gains_[i]) + " for a split of feature " +
                                    std::to_string(candidates_[i].split.feature) +
                                    ": a gain must be a finite number, or -inf to rule a split "
                                    "out");
      }
      if (!(gains_[i] > best_gain_)) continue;
      best_gain_ = gains_[i];
      best_ = candidates_[i].split;
      best_next_ = candidates_[i].next;
      best_slot_ = slot;
    }
  }

  const ForestData data_;
  const ForestOptions& options_;
  AllSums sums_;
  double sample_weight_;
  NodeCodes<Code> codes_;
  CategoryRanks<Code> ranks_;
  FeatureDraw draw_;
  CandidateList<Code> list_;
  std::vector<int32_t> features_;
  std::vector<AllSums::Item> items_;
  std::vector<double> cells_, total_, left_sums_;
  // The feature at hand.
  std::vector<Candidate> candidates_;
  std::vector<double> left_, right_, gains_;

  NodeSplit best_;
  double best_gain_ = 0;
  int32_t best_next_ = 0;
  int32_t best_slot_ = 0;
};

}  // namespace rankgrove::forests
