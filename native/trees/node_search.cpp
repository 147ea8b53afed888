#include "trees/node_search.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerBin = 1.6;
constexpr double kNanosecondsPerCountedBin = 4.0;
constexpr int kFewCounts = 8;
constexpr double kNoGain = -std::numeric_limits<double>::infinity();

}  // namespace

double NodeSearch::nanoseconds() const {
  return kNanosecondsPerBin * static_cast<double>(state_.layout.size());
}

// A criterion in Python is called from one thread.
int NodeSearch::n_threads() const { return search_.rules().criterion ? 1 : state_.n_threads; }

void NodeSearch::find_splits(std::initializer_list<OpenNode*> nodes,
                             const PendingHistogram& pending,
                             const PendingSubtraction& subtraction) {
  const int32_t n_features = state_.layout.n_features();
  candidates_.resize(nodes.size());
  auto last = candidates_.begin();
  for (OpenNode* node : nodes) {
    if (!node->histogram) continue;
    last->node = node;
    last->drawn.assign(n_features, 0);
    last->by_feature.assign(n_features, {});
    last->known_gain = kNoGain;
    if (!node->decided) {
      for (const int32_t f : state_.features_of(node->node)) last->drawn[f] = 1;
    }
    ++last;
  }
  if (last == candidates_.begin()) return;
  const double cost = kNanosecondsPerBin * state_.layout.mean_bins() *
                      static_cast<double>(last - candidates_.begin());
  const auto search_feature = [&](int32_t f) {
    if (subtraction.whole) histograms_.subtract(f, subtraction.part, subtraction.whole);
    for (auto search = candidates_.begin(); search != last; ++search) {
      if (!search->drawn[f]) continue;
      const OpenNode& node = *search->node;
      // If another thread overwrites a gain by a lower one, more splits are evaluated, and that is
      // all. Where rows are yet to be counted, the best may fail, and others are needed; with
      // noise, another may be preferred.
      const std::atomic_ref known(search->known_gain);
      const bool any_may_win = node.rows_counted || node.sums.noise;
      const double least = any_may_win ? kNoGain : known.load(std::memory_order_relaxed);
      Split& split = search->by_feature[f];
      split = best_of_feature(node, f, nullptr, least);
      if (split.gain > least) known.store(split.gain, std::memory_order_relaxed);
    }
  };
  if (pending.histogram) {
    histograms_.build_by_feature(pending.begin, pending.end, pending.histogram, n_threads(), cost,
                                 search_feature);
  } else {
    const FeatureShare& searched = state_.searched;
    parallel_for(searched.count(), n_threads(), cost, [&](int64_t task) {
      search_feature(searched.begin + static_cast<int32_t>(task));
    });
  }
  std::vector<OpenNode*> open;
  std::vector<SplitOffer> offers;
  for (auto search = candidates_.begin(); search != last; ++search) {
    OpenNode& node = *search->node;
    if (node.decided) continue;
    if (node.rows_counted) {
      set_split(node, best_with_enough_rows(node, search->by_feature));
    } else {
      open.push_back(&node);
      offers.push_back(own_offer(node, search->by_feature));
    }
  }
  offers = best_offers(state_.share, *state_.binned->bins, std::move(offers));
  for (size_t i = 0; i < open.size(); ++i) set_split(*open[i], offers[i]);
}

// The best split of one feature. Its sums are exact, also where those of bins were scaled down.
Split NodeSearch::best_of_feature(const OpenNode& node, int32_t feature, const int64_t* row_counts,
                                  double least_gain) const {
  NodeBins bins = histograms_.bins(feature, node.histogram, node.sums.total);
  if (row_counts) bins.row_counts = row_counts;
  Split split = search_.best_of_feature(feature, bins, node.sums, least_gain);
  if (!state_.wide || !split.found()) return split;
  split.left = histograms_.left(node.histogram, split.rule);
  if (split.branch) split.values = node.sums.total - histograms_.missing(node.histogram, feature);
  return split;
}

// By what the best splits of features are compared: their gains, unless noise is wanted.
double NodeSearch::preference(const OpenNode& node, const Split& split) const {
  if (!node.sums.noise) return split.gain;
  const double score = split.gain + search_.node_score(node.sums.total, state_.packed);
  return node.sums.noise.preference(score, split.rule.feature, -1);
}

// The best split among this worker's features; equal gains go to the lower one. Its flag says
// whether missing values of the feature have sums.
SplitOffer NodeSearch::own_offer(const OpenNode& node, const std::vector<Split>& by_feature) const {
  const Split* best = nullptr;
  double greatest = kNoGain;
  for (int32_t f = state_.searched.begin; f < state_.searched.end; ++f) {
    const Split& split = by_feature[f];
    if (!split.found()) continue;
    const double worth = preference(node, split);
    if (!(worth > greatest)) continue;
    best = &split;
    greatest = worth;
  }
  if (!best) return {};
  return {*best, greatest, has_missing_sums(node, best->rule.feature)};
}

// Where the node has no missing value, one that comes later follows the heavier child. (Rows
// whose sums are 0 may follow it too, unless the children's rows have been counted.)
void NodeSearch::set_split(OpenNode& node, const SplitOffer& chosen) const {
  node.split = chosen.split;
  CodeRule& rule = node.split.rule;
  if (!node.split.found() || rule.missing_left || chosen.flag) return;
  if (node.rows_counted && state_.layout.missing[rule.feature] &&
      count_rows(node, rule.feature).back() > 0) {
    return;
  }
  rule.missing_left = 2 * node.split.left.hessian >= node.sums.total.hessian;
}

// The rows of all workers by their code of one feature; the last code is that of missing values.
std::vector<int64_t> NodeSearch::count_rows(const OpenNode& node, int32_t feature) const {
  std::vector<int64_t> counts(state_.layout.n_bins[feature] + 1, 0);
  state_.partition.count_codes(node.begin, node.end, feature, counts.data());
  state_.share.sum(counts.data(), counts.size());
  return counts;
}

bool NodeSearch::has_missing_sums(const OpenNode& node, int32_t feature) const {
  return histograms_.missing(node.histogram, feature) != GradientSums{};
}

// The best split whose children have enough rows. Histograms hold weights, not numbers of rows, so
// the rows of each feature that comes out best are counted; where several have too few, as sparse
// features do, those of all features at once. (Noise compares features by any of their splits, so
// that all must be known to have enough rows.)
SplitOffer NodeSearch::best_with_enough_rows(const OpenNode& node, std::vector<Split>& by_feature) {
  std::vector<uint8_t> counted(by_feature.size(), 0);
  const int few = node.sums.noise ? 0 : kFewCounts;
  for (int n_counted = 0;; ++n_counted) {
    if (n_counted == few) {
      count_all_rows(node, by_feature);
      counted.assign(by_feature.size(), 1);
    }
    const SplitOffer best =
        best_offers(state_.share, *state_.binned->bins, {own_offer(node, by_feature)})[0];
    const int32_t feature = best.split.rule.feature;
    if (!best.split.found() || counted[feature]) return best;
    const std::vector<int64_t> rows = count_rows(node, feature);
    if (state_.searched.has(feature)) {
      by_feature[feature] = best_of_feature(node, feature, rows.data(), kNoGain);
    }
    counted[feature] = 1;
  }
}

// Searches the features again that have a split, with the numbers of rows in all their bins.
void NodeSearch::count_all_rows(const OpenNode& node, std::vector<Split>& by_feature) {
  const HistogramLayout& layout = state_.layout;
  int64_t* counts = histograms_.acquire();
  histograms_.build_row_counts(node.begin, node.end, counts);
  const double cost = kNanosecondsPerCountedBin * layout.mean_bins();
  parallel_for(state_.searched.count(), n_threads(), cost, [&](int64_t i) {
    const auto f = static_cast<int32_t>(state_.searched.begin + i);
    if (!by_feature[f].found()) return;
    std::vector<int64_t> rows(counts + layout.start[f], counts + layout.start[f + 1]);
    rows.resize(layout.n_bins[f] + 1, 0);
    by_feature[f] = best_of_feature(node, f, rows.data(), kNoGain);
  });
  histograms_.release(counts);
}

}  // namespace rankgrove
