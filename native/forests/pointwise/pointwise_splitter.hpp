// Pointwise splits, which depend on the documents of the node only: the best of all thresholds of K
// features, or of one random threshold for each of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/nodes/candidate_list.hpp"
#include "forests/nodes/node_codes.hpp"
#include "forests/nodes/node_splitter.hpp"
#include "forests/pointwise/code_table.hpp"
#include "forests/pointwise/random_threshold.hpp"

namespace rankgrove::forests {

template <typename Code, typename CriterionOf>
class PointwiseSplitter final : public NodeSplitter<Code> {
 public:
  PointwiseSplitter(const ForestData& data, const ForestOptions& options, CriterionOf criterion,
                    double sample_weight)
      : data_(data),
        options_(options),
        criterion_(std::move(criterion)),
        sample_weight_(sample_weight),
        codes_(data.features),
        ranks_(data.features, options.splitter == Splitter::kBest ? &data.targets : nullptr),
        draw_(data.features.binned->n_features()),
        list_(data.features),
        table_(criterion_, *data.features.binned),
        total_(criterion_.stride()),
        left_(criterion_.stride()),
        right_(criterion_.stride()),
        missing_(criterion_.stride()) {}

  NodeSplit find(const NodeRows& documents, const WaitingNode&, Random& random) override {
    const int64_t n = documents.n;
    const double perfect = start(documents);
    if (documents.least_gain > 0) {
      const double weight = criterion_.weight(total_.data());
      const double rounding = kRounding * (std::abs(perfect) + weight);
      const double least = node_score_ + documents.least_gain * sample_weight_ - rounding;
      if (perfect + rounding < least) return best_;
      best_score_ = std::max(best_score_, least);
    }
    if constexpr (kInLanes) {
      if (start_lanes()) {
        find_in_lanes(perfect, random);
        if (best_.found()) gather_ranked(best_.feature, best_slot_ = 0, random);
        return finished();
      }
    }
    visit_drawn_features(draw_, options_.max_features, options_.redraw, codes_, ranks_, documents,
                         features_, random,
                         [&](int32_t slot, int32_t feature, int32_t low, int32_t high) {
                           slot_ = slot;
                           if (options_.splitter == Splitter::kBest) {
                             try_all_thresholds(codes_.codes(slot), n, feature, low, high, random);
                           } else {
                             try_one_threshold(codes_.codes(slot), n, feature, low, high, random);
                           }
                           return !best_.found() || best_score_ < perfect;
                         });
    return finished();
  }

  bool reads_bits() const override {
    return kCountsClasses && options_.splitter == Splitter::kRandomThreshold &&
           !options_.missing_branch;
  }
  NodeSplit find(const DocumentBits& documents, const uint32_t* class_counts,
                 Random& random) override {
    if constexpr (kCountsClasses) {
      const double perfect = start({.n = documents.n_members(), .class_counts = class_counts});
      visit_drawn_features(draw_, options_.max_features, options_.redraw, documents, features_,
                           random, [&](int32_t feature, int32_t low, int32_t high) {
                             try_one_threshold(documents, feature, low, high, random);
                             return !best_.found() || best_score_ < perfect;
                           });
    }
    return finished();
  }

  const Code* split_codes() const override { return codes_.codes(best_slot_); }
  std::span<const int32_t> split_categories() const override {
    return ranks_.categories(best_slot_);
  }

 private:
  using Cell = typename CriterionOf::Cell;
  using Item = typename CriterionOf::Item;

  // Tolerance for comparing scores with their upper bound.
  static constexpr double kRounding = 1e-9;

  // Whether the criterion scores many thresholds at once.
  static constexpr bool kScoredTogether = requires(const CriterionOf& criterion, double* scores) {
    criterion.children_scores(nullptr, 0, 0, 0.0, scores);
  };

  // Whether the sums of small nodes fit the lanes of a vector.
  static constexpr bool kInLanes =
      sizeof(Code) == 1 &&
      requires(const CriterionOf& criterion, NodeRows documents, std::vector<uint8_t>& items,
               uint64_t& least) { criterion.lane_items(documents, items, least); };

  // Whether the numbers of documents of each class are all there is to know.
  static constexpr bool kCountsClasses = CriterionOf::kOfClassCounts;

  // Begins a node; returns the score that no split of it surpasses.
  double start(const NodeRows& documents) {
    documents_ = documents;
    std::fill(total_.begin(), total_.end(), Cell{});
    items_known_ = false;
    criterion_.add_all(documents, [this] { return items(); }, total_.data());
    node_score_ = criterion_.score(total_.data());
    best_ = NodeSplit{};
    best_score_ = node_score_ + (options_.min_gain + kGainNoise) * criterion_.weight(total_.data());
    return criterion_.perfect_score(documents, total_.data());
  }

  NodeSplit finished() {
    if (best_.found()) {
      best_.gain = (best_score_ - node_score_) / sample_weight_;
      if (options_.splitter == Splitter::kBest) best_.bin = list_.centered_bin(best_, best_next_);
    }
    return best_;
  }

  // Whether the node at hand is one of them.
  bool start_lanes() {
    constexpr int32_t kWorthLanes = 10;  // features; fewer are quicker one by one
    if (options_.splitter != Splitter::kBest || options_.threshold_fraction < 1 ||
        options_.max_features < kWorthLanes || documents_.n > FeatureLanes::kMostRows ||
        !codes_.row_by_row() || !criterion_.lane_items(documents_, lane_items_, least_target_)) {
      return false;
    }
    lanes_.start(lane_items_.data(), documents_.n);
    return true;
  }

  // The same as visit_drawn_features, for several features at once.
  void find_in_lanes(double perfect, Random& random) {
    constexpr int32_t kLanes = FeatureLanes::kLanes;
    // Features with about the gain of the best one are searched exactly.
    constexpr double kClose = 1 - 1e-4;
    const int64_t n = documents_.n;
    draw_.start();
    bool splittable = false;
    int32_t n_drawn = 0;
    while (!draw_.exhausted() &&
           (n_drawn < options_.max_features || (options_.redraw && !splittable))) {
      const bool any_will_do = n_drawn >= options_.max_features;
      const int32_t wanted =
          any_will_do ? kLanes : std::min(options_.max_features - n_drawn, kLanes);
      features_.clear();
      while (static_cast<int32_t>(features_.size()) < wanted && !draw_.exhausted()) {
        features_.push_back(draw_.next(random));
      }
      const auto n_new = static_cast<int32_t>(features_.size());
      n_drawn += n_new;
      codes_.template gather_lanes<kLanes>(features_.data(), n_new, documents_.rows, n,
                                           lanes_.codes());
      lanes_.sort();
      float gains[kLanes];
      lanes_.greatest_gains(gains);
      for (int32_t lane = 0; lane < n_new; ++lane) {
        if (lanes_.constant(lane)) continue;
        splittable = true;
        if (data_.features.binned->has_missing(features_[lane])) {
          const auto [low, high] = gather_ranked(features_[lane], 0, random);
          try_all_thresholds(codes_.codes(0), n, features_[lane], low, high, random);
        } else if (gains[lane] >= kClose * (best_score_ - node_score_)) {
          try_lane(lane, features_[lane]);
        }
        if (any_will_do || (best_.found() && best_score_ >= perfect)) return;
      }
    }
  }

  // The codes of a feature, or the ranks of its categories; returns the lowest and the highest.
  std::pair<int32_t, int32_t> gather_ranked(int32_t feature, int32_t slot, Random& random) {
    const auto [low, high] = codes_.gather_few(feature, slot, documents_.rows, documents_.n);
    if (!ranks_.has_categories(feature)) return {low, high};
    return ranks_.apply(feature, slot, documents_, random, codes_.codes(slot));
  }

  void try_lane(int32_t lane, int32_t feature) {
    make_trial_room(documents_.n);
    int64_t n_codes = 0;
    lanes_.visit_sums(lane, [&](uint32_t code, uint64_t n_documents, uint64_t sum) {
      candidate_codes_[n_codes] = static_cast<int32_t>(code);
      candidate_left_[n_codes++] =
          criterion_.packed(n_documents, sum + least_target_ * n_documents);
    });
    try_trials(feature, n_codes - 1);
  }

  // Items of the node's documents, made when they are first asked for.
  const Item* items() {
    if (items_known_) return items_.data();
    const int64_t n = documents_.n;
    if (static_cast<int64_t>(items_.size()) < n) items_.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) items_[i] = criterion_.item(documents_, i);
    items_known_ = true;
    return items_.data();
  }

  void try_all_thresholds(const Code* codes, int64_t n, int32_t feature, int32_t low, int32_t high,
                          Random& random) {
    const bool ranked = kScoredTogether && n <= kMostRanked;
    if (options_.threshold_fraction >= 1 && high < data_.features.binned->missing_bin(feature) &&
        (ranked || high - low <= 16 * n)) {
      try_present_thresholds(codes, n, feature, low, high);
      return;
    }
    list_.build(codes, items(), n, low, high, criterion_, cells_);
    const int32_t last_value = list_.size() - 2;  // of the entries, if the last one is missing
    const bool branch = high == data_.features.binned->missing_bin(feature) && last_value >= 0 &&
                        may_branch(feature, cells_.data() + list_.offset(last_value + 1));
    int32_t entered = 0;
    list_.for_each_threshold(
        feature, options_.threshold_fraction, random,
        [&](bool first, int32_t entry) {
          if (first) std::fill(left_.begin(), left_.end(), Cell{});
          const Cell* cell = cells_.data() + list_.offset(entry);
          Cell* left = left_.data();
          for (int32_t c = 0; c < criterion_.stride(); ++c) left[c] += cell[c];
          entered = entry;
        },
        [&](int32_t bin, int32_t next, bool missing_left) {
          if (!branch) {
            consider(feature, bin, next, missing_left);
          } else if (entered < last_value) {
            consider_three(feature, bin, next);
          } else {  // all values, also larger ones than those of the node, part from missing ones
            consider(feature, high - 1, high, false);
          }
        },
        !branch);
  }

  // Whether the missing values of a feature can be a child of their own; `missing` are their sums.
  // (Infinite values are no side of the test for missing ones, whose threshold is infinite.)
  bool may_branch(int32_t feature, const Cell* missing) {
    const Bins& bins = *data_.features.binned->bins;
    if (!options_.missing_branch || bins.has_infinity[feature] || bins.is_categorical(feature) ||
        criterion_.n_docs(missing) < options_.min_samples_leaf) {
      return false;
    }
    std::copy_n(missing, criterion_.stride(), missing_.begin());
    missing_score_ = criterion_.score(missing);
    return true;
  }

  // All thresholds between codes of the node, none of them that of a missing value.
  void try_present_thresholds(const Code* codes, int64_t n, int32_t feature, int32_t low,
                              int32_t high) {
    if constexpr (kScoredTogether) {
      make_trial_room(high - low + 1);
      // The last code has nothing to its right.
      const int64_t n_candidates =
          table_.running_sums(criterion_, codes, items(), n, low, high,
                              data_.features.usual[feature], total_[0], candidate_codes_.data(),
                              candidate_left_.data()) -
          1;
      if (!criterion_.may_score_more(candidate_left_.data(), n_candidates, total_[0], best_score_))
        return;
      try_trials(feature, n_candidates);
    } else {
      std::fill(left_.begin(), left_.end(), Cell{});
      table_.walk(criterion_, codes, items(), n, low, high, left_.data(),
                  [&](int32_t bin, int32_t next) { consider(feature, bin, next, false); });
    }
  }

  void make_trial_room(int64_t n_codes) {
    const auto capacity = static_cast<size_t>(padded_size(n_codes) + ByteSums::kPadding);
    if (candidate_left_.size() >= capacity) return;
    candidate_left_.resize(capacity);
    candidate_scores_.resize(capacity);
    candidate_codes_.resize(capacity);
  }

  // The thresholds behind the first n_candidates codes of candidate_codes_.
  void try_trials(int32_t feature, int64_t n_candidates) {
    const double greatest = criterion_.children_scores(
        candidate_left_.data(), n_candidates, total_[0],
        static_cast<double>(options_.min_samples_leaf), candidate_scores_.data());
    if (!(greatest > best_score_)) return;
    const auto first = std::find(candidate_scores_.begin(), candidate_scores_.end(), greatest);
    const auto candidate = first - candidate_scores_.begin();
    keep_if_better(greatest, feature, candidate_codes_[candidate], candidate_codes_[candidate + 1],
                   false);
  }

  void try_one_threshold(const Code* codes, int64_t n, int32_t feature, int32_t low, int32_t high,
                         Random& random) {
    NodeSplit split;
    if (!draw_threshold(data_.features, codes, n, feature, low, high, options_.missing_branch,
                        random, split)) {
      return;
    }
    const int32_t missing_bin = data_.features.binned->missing_bin(feature);
    const auto add_left = [&](const NodeSplit& sides, std::vector<Cell>& sums) {
      std::fill(sums.begin(), sums.end(), Cell{});
      criterion_.add_left(
          documents_, [this] { return items(); }, codes, sides, missing_bin, sums.data());
    };
    add_left(split, left_);
    if (split.branch) {
      add_left({feature, -1, true}, right_);
      if (may_branch(feature, right_.data())) consider_three(feature, split.bin, split.bin + 1);
      return;
    }
    consider(feature, split.bin, split.bin + 1, split.missing_left);
  }

  void try_one_threshold(const DocumentBits& documents, int32_t feature, int32_t low, int32_t high,
                         Random& random) {
    NodeSplit split;
    if (!draw_threshold(data_.features, documents, feature, low, high, random, split)) return;
    DocumentBits::Counts counts;
    documents.count_left(split, counts);
    std::fill(left_.begin(), left_.end(), Cell{});
    criterion_.add_all({.class_counts = counts.data()}, [] {}, left_.data());
    consider(feature, split.bin, split.bin + 1, split.missing_left);
  }

  // The children are left_, missing_ and the rest.
  void consider_three(int32_t feature, int32_t bin, int32_t next) {
    for (int32_t c = 0; c < criterion_.stride(); ++c) {
      right_[c] = total_[c] - left_[c] - missing_[c];
    }
    if (options_.min_samples_leaf > 1 &&
        (criterion_.n_docs(left_.data()) < options_.min_samples_leaf ||
         criterion_.n_docs(right_.data()) < options_.min_samples_leaf)) {
      return;
    }
    const double both = criterion_.score(left_.data()) + criterion_.score(right_.data());
    keep_if_better(both + missing_score_, feature, bin, next, false, true);
  }

  [[gnu::always_inline]] void consider(int32_t feature, int32_t bin, int32_t next,
                                       bool missing_left) {
    const Cell* total = total_.data();
    const Cell* left = left_.data();
    Cell* right = right_.data();
    for (int32_t c = 0; c < criterion_.stride(); ++c) right[c] = total[c] - left[c];
    if (options_.min_samples_leaf > 1 &&
        (criterion_.n_docs(left_.data()) < options_.min_samples_leaf ||
         criterion_.n_docs(right_.data()) < options_.min_samples_leaf)) {
      return;
    }
    keep_if_better(criterion_.score(left_.data()) + criterion_.score(right_.data()), feature, bin,
                   next, missing_left);
  }

  void keep_if_better(double score, int32_t feature, int32_t bin, int32_t next, bool missing_left,
                      bool branch = false) {
    if (score > best_score_) {
      best_score_ = score;
      best_.feature = feature;
      best_.bin = bin;
      best_.missing_left = missing_left;
      best_.branch = branch;
      best_next_ = next;
      best_slot_ = slot_;
    }
  }

  const ForestData data_;
  const ForestOptions& options_;
  CriterionOf criterion_;
  double sample_weight_;
  NodeCodes<Code> codes_;
  CategoryRanks<Code> ranks_;
  FeatureDraw draw_;
  CandidateList<Code> list_;
  CodeTable<Code, CriterionOf> table_;
  std::vector<int32_t> features_;
  NodeRows documents_{};
  bool items_known_ = false;
  std::vector<Item> items_;
  std::vector<Cell> cells_, total_, left_, right_, missing_;
  double missing_score_ = 0;
  std::vector<uint64_t> candidate_left_;  // of thresholds that are scored together
  std::vector<double> candidate_scores_;
  std::vector<int32_t> candidate_codes_;
  FeatureLanes lanes_;
  std::vector<uint8_t> lane_items_;
  uint64_t least_target_ = 0;
  double node_score_ = 0, best_score_ = 0;
  int32_t slot_ = 0;  // of the feature at hand
  int32_t best_slot_ = 0;
  NodeSplit best_;
  int32_t best_next_ = 0;  // the code that follows best_.bin in the node
};

}  // namespace rankgrove::forests
