// Finds the split of a node from its histograms over all workers: the same one that
// PointwiseSplitter and RandomSplitter find from its documents.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/nodes/candidate_list.hpp"
#include "forests/nodes/feature_draw.hpp"
#include "forests/sharded/histogram_layout.hpp"
#include "forests/sharded/node_histograms.hpp"

namespace rankgrove::forests {

struct SharedSplit {
  enum class Kind : int32_t {
    kNone,  // the node is a leaf
    kFound,
    kMore,  // all features so far are constant: more must be searched
  };
  Kind kind = Kind::kNone;
  NodeSplit split;
  bool some_missing = false;
  bool categorical = false;
  std::vector<uint32_t> words;  // categories that go left
};

class HistogramSearch {
 public:
  HistogramSearch(const ForestData& data, const ForestOptions& options,
                  const HistogramLayout& layout)
      : data_(data),
        options_(options),
        layout_(layout),
        packed_(data.targets),
        draw_(data.features.binned->n_features()),
        list_(data.features),
        total_(layout.stride),
        left_(layout.stride),
        right_(layout.stride),
        missing_(layout.stride) {}

  // `cells` are those of histogram_size(); the sample of the tree weighs `sample_weight`.
  SharedSplit find(const OpenNode& node, const int64_t* cells, double sample_weight);

 private:
  void start(const OpenNode& node, const int64_t* cells);
  bool visit(int32_t number, int32_t feature);
  bool list_codes(int32_t feature);
  void rank_categories(int32_t feature);
  void try_all_thresholds(int32_t feature);
  void try_one_threshold(int32_t feature);
  void try_random(int32_t feature);
  bool drawn_threshold(int32_t feature, NodeSplit& split);
  bool may_branch(int32_t feature, const int64_t* missing);
  void add_left(const NodeSplit& split, std::vector<int64_t>& sums) const;
  void consider(int32_t feature, int32_t bin, int32_t next, bool missing_left);
  void consider_three(int32_t feature, int32_t bin, int32_t next);
  void keep_if_better(double score, const NodeSplit& split, int32_t next);
  bool enough(const std::vector<int64_t>& sums) const {
    return layout_.n_documents(sums.data()) >= options_.min_samples_leaf;
  }
  void keep_entries();
  SharedSplit finished(double sample_weight);

  double weight(const int64_t* cell) const;
  double class_weight(const int64_t* cell, int32_t c) const;
  double score(const int64_t* cell) const;
  double perfect_score() const;
  double mean_target(const int64_t* cell) const;

  const ForestData data_;
  const ForestOptions& options_;
  const HistogramLayout& layout_;
  PackedReals packed_;
  FeatureDraw draw_;
  CandidateList<uint16_t> list_;
  Random random_{0};

  const OpenNode* node_ = nullptr;
  bool own_steps_ = false;
  const int64_t* squares_ = nullptr;
  const int64_t* feature_cells_ = nullptr;  // of the next feature to search
  bool splittable_ = false;
  double node_score_ = 0, best_score_ = 0, perfect_ = 0, missing_score_ = 0;
  std::vector<int64_t> total_, left_, right_, missing_;

  // The codes of the feature at hand (or ranks of its categories), and where their cells begin.
  const int64_t* cells_ = nullptr;
  std::vector<int32_t> codes_;
  std::vector<int64_t> offsets_;
  std::vector<int32_t> categories_;  // by rank

  NodeSplit best_;
  int32_t best_next_ = 0;
  bool best_some_missing_ = false;
  std::vector<int32_t> best_categories_;
  std::vector<int64_t> best_category_rows_;  // by rank, and behind them those of missing values
};

}  // namespace rankgrove::forests
