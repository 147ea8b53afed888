#include "trees/node_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerBin = 1.6;
constexpr double kNanosecondsPerCode = 1.0;  // of a node that is searched by its rows
constexpr double kNanosecondsPerSmallSearch = 100.0;
constexpr double kNanosecondsPerCountedBin = 4.0;
constexpr int kFewCounts = 8;
constexpr double kNoGain = -std::numeric_limits<double>::infinity();

}  // namespace

double NodeSearch::nanoseconds() const {
  return kNanosecondsPerBin * static_cast<double>(state_.layout.size());
}

// A criterion in Python is called from one thread.
int NodeSearch::n_threads() const { return search_.rules().criterion ? 1 : state_.n_threads; }

// A feature's bins of such a node cost about as much as two of its rows and some 200 more; with a
// histogram, a node costs at least as much as all bins of all features.
bool NodeSearch::takes_rows(int64_t n_rows) const {
  const GrowOptions& options = state_.options;
  const double n_searched = options.max_features_tree * options.max_features_node *
                            static_cast<double>(state_.layout.n_features());
  return !codes_.empty() && state_.share.alone() && !state_.wide &&
         static_cast<double>(n_rows) * n_searched <= static_cast<double>(state_.layout.size());
}

void NodeSearch::start(OpenNode& node, Candidates& search) const {
  const int32_t n_features = state_.layout.n_features();
  search.node = &node;
  search.features.clear();
  search.drawn.assign(n_features, 0);
  search.gain_bound.assign(n_features, kNoGain);
  search.by_feature.resize(n_features);
  for (Split& split : search.by_feature) {
    if (split.found()) split = {};
  }
  if (node.decided) return;
  const std::vector<int32_t>& first_bin = state_.layout.start;
  for (const int32_t f : state_.features_of(node.node)) {
    if (first_bin[f + 1] - first_bin[f] == 1) continue;  // a constant feature splits nothing
    search.features.push_back(f);
    search.drawn[f] = 1;
  }
}

void NodeSearch::find_splits(std::initializer_list<OpenNode*> nodes,
                             std::span<PendingHistogram> pending,
                             const PendingSubtraction& subtraction) {
  candidates_.resize(nodes.size());
  auto last = candidates_.begin();
  bool by_rows = false;
  for (OpenNode* node : nodes) {
    if (!node->histogram && !node->by_rows) continue;
    by_rows = node->by_rows;
    start(*node, *last++);
  }
  if (last == candidates_.begin()) return;
  const double cost = kNanosecondsPerBin * state_.layout.mean_bins() *
                      static_cast<double>(last - candidates_.begin());
  const auto search_feature = [&](int32_t f) {
    if (subtraction.whole) histograms_.subtract(f, subtraction.part, subtraction.whole);
    for (auto search = candidates_.begin(); search != last; ++search) {
      if (!search->drawn[f]) continue;
      const OpenNode& node = *search->node;
      bound_or_search(*search, f, histograms_.bins(f, node.histogram, node.sums.total));
    }
  };
  if (by_rows) {
    std::for_each(candidates_.begin(), last, [&](Candidates& search) { search_by_rows(search); });
  } else if (!pending.empty()) {
    histograms_.build_by_feature(pending, n_threads(), cost, search_feature);
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
    search_promising(*search);
    if (node.rows_counted && !state_.share.alone()) {
      set_split(node, best_with_enough_rows(node, search->by_feature));
    } else {
      open.push_back(&node);
      offers.push_back(own_offer(node, search->by_feature));
    }
  }
  offers = best_offers(state_.share, *state_.binned->bins, std::move(offers));
  for (size_t i = 0; i < open.size(); ++i) set_split(*open[i], offers[i]);
}

// Searches a feature, or notes an upper bound of the gains of its splits. A feature with a bound is
// searched later, if the bound is the largest, and with rows counted if necessary. (Several workers
// count the rows of one feature together.)
void NodeSearch::bound_or_search(Candidates& search, int32_t feature, const NodeBins& bins) const {
  const OpenNode& node = *search.node;
  const bool counted_later = node.rows_counted && state_.share.alone();
  const bool searched_later = counted_later || !node.rows_counted;
  if (searched_later && search_.can_bound(feature, node.sums, *bins.units)) {
    search.gain_bound[feature] = search_.gain_bound(feature, bins, node.sums);
  } else if (counted_later) {
    search.gain_bound[feature] = -kNoGain;
  } else {
    search.by_feature[feature] =
        with_exact_sums(node, search_.best_of_feature(feature, bins, node.sums));
  }
}

void NodeSearch::search_by_rows(Candidates& search) const {
  constexpr int64_t kAtOnce = RowCodes::kAtOnce;
  const std::span<const int32_t> features = search.features;
  const auto n_features = std::ssize(features);
  const double rows = static_cast<double>(search.node->n_rows);
  const double cost = kAtOnce * (kNanosecondsPerSmallSearch + kNanosecondsPerCode * rows);
  parallel_for((n_features + kAtOnce - 1) / kAtOnce, n_threads(), cost, [&](int64_t block) {
    const int64_t first = block * kAtOnce;
    visit_bins(*search.node,
               features.subspan(first, std::min<int64_t>(kAtOnce, n_features - first)),
               [&](int32_t f, const NodeBins& bins) { bound_or_search(search, f, bins); });
  });
}

// Calls visit(feature, bins) for up to RowCodes::kAtOnce features of a node without a histogram.
template <typename Visit>
void NodeSearch::visit_bins(const OpenNode& node, std::span<const int32_t> features,
                            Visit&& visit) const {
  thread_local std::vector<int64_t> zeros;
  std::vector<int64_t> space = std::exchange(zeros, {});  // is freed if a visit throws
  space.resize(RowCodes::kAtOnce * RowCodes::kWords, 0);
  const std::span rows(state_.partition.rows() + node.begin, node.end - node.begin);
  codes_.add_up(features, state_.packed.words.data(), rows, space.data());
  int64_t* bins = space.data();
  for (const int32_t f : features) {
    visit(f, NodeBins{bins, packed_word(node.sums.total), &state_.packed});
    std::fill_n(bins, state_.layout.n_bins[f] + 1, int64_t{0});
    bins += RowCodes::kWords;
  }
  zeros = std::move(space);
}

// Searches the features whose upper bound allows the best split, in descending order of the bounds.
// If rows are to be counted, histograms do not give their number, because they hold weights: the
// rows are counted feature by feature and, after several features with too few rows (as sparse
// features have), for all features at once.
void NodeSearch::search_promising(Candidates& search) {
  const OpenNode& node = *search.node;
  std::vector<double>& bound = search.gain_bound;
  double known = search_.rules().min_gain;
  for (int n_searched = 0;; ++n_searched) {
    const auto next = std::max_element(bound.begin(), bound.end());
    if (!(*next >= known)) return;
    if (node.rows_counted && n_searched == kFewCounts) {
      count_all_rows(node, search.by_feature, [&](int32_t f) { return bound[f] >= known; });
      return;
    }
    *next = kNoGain;
    const auto f = static_cast<int32_t>(next - bound.begin());
    const std::vector<int64_t> rows =
        node.rows_counted ? count_rows(node, f) : std::vector<int64_t>();
    search.by_feature[f] = best_of_feature(node, f, node.rows_counted ? rows.data() : nullptr);
    known = std::max(known, search.by_feature[f].gain);
  }
}

// The best split of one feature.
Split NodeSearch::best_of_feature(const OpenNode& node, int32_t feature,
                                  const int64_t* row_counts) const {
  Split split;
  const auto search = [&](int32_t f, NodeBins bins) {
    if (row_counts) bins.row_counts = row_counts;
    split = search_.best_of_feature(f, bins, node.sums);
  };
  if (node.by_rows) {
    visit_bins(node, {&feature, 1}, search);
  } else {
    search(feature, histograms_.bins(feature, node.histogram, node.sums.total));
  }
  return with_exact_sums(node, split);
}

// The sums of a split are exact, even if those of bins were scaled down.
Split NodeSearch::with_exact_sums(const OpenNode& node, Split split) const {
  if (!state_.wide || !split.found()) return split;
  split.left = histograms_.left(node.histogram, split.rule);
  if (split.branch) {
    split.values = node.sums.total - histograms_.missing(node.histogram, split.rule.feature);
  }
  return split;
}

// The value by which the best splits of features are compared: their gain, unless noise is wanted.
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
    const double value = preference(node, split);
    if (!(value > greatest)) continue;
    best = &split;
    greatest = value;
  }
  if (!best) return {};
  return {*best, greatest, has_missing_sums(node, best->rule.feature)};
}

// If the node has no missing value, later missing values go to the heavier child. (Rows whose sums
// are 0 may go there, too, unless the children's rows have been counted.)
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
  if (node.by_rows) {
    int64_t sum = 0;
    if (state_.layout.missing[feature]) {
      visit_bins(node, {&feature, 1}, [&](int32_t f, const NodeBins& bins) {
        sum = bins.bins[state_.layout.n_bins[f]];
      });
    }
    return sum != 0;
  }
  return histograms_.missing(node.histogram, feature) != GradientSums{};
}

// The best split whose children have enough rows. Histograms hold weights, not numbers of rows, so
// the rows of each feature with the best split are counted; after several features with too few
// rows (as sparse features have), those of all features at once. (With noise, features are compared
// by any of their splits, so all splits must be known to have enough rows.)
SplitOffer NodeSearch::best_with_enough_rows(const OpenNode& node, std::vector<Split>& by_feature) {
  std::vector<uint8_t> counted(by_feature.size(), 0);
  const int few = node.sums.noise ? 0 : kFewCounts;
  for (int n_counted = 0;; ++n_counted) {
    if (n_counted == few) {
      count_all_rows(node, by_feature, [&](int32_t f) { return by_feature[f].found(); });
      counted.assign(by_feature.size(), 1);
    }
    const SplitOffer best =
        best_offers(state_.share, *state_.binned->bins, {own_offer(node, by_feature)})[0];
    const int32_t feature = best.split.rule.feature;
    if (!best.split.found() || counted[feature]) return best;
    const std::vector<int64_t> rows = count_rows(node, feature);
    if (state_.searched.has(feature)) {
      by_feature[feature] = best_of_feature(node, feature, rows.data());
    }
    counted[feature] = 1;
  }
}

// Searches the features that are wanted with the numbers of rows in all their bins.
template <typename Wanted>
void NodeSearch::count_all_rows(const OpenNode& node, std::vector<Split>& by_feature,
                                Wanted&& wanted) {
  const HistogramLayout& layout = state_.layout;
  int64_t* counts = histograms_.acquire();
  histograms_.build_row_counts(node.begin, node.end, counts);
  const double cost = kNanosecondsPerCountedBin * layout.mean_bins();
  parallel_for(state_.searched.count(), n_threads(), cost, [&](int64_t i) {
    const auto f = static_cast<int32_t>(state_.searched.begin + i);
    if (!wanted(f)) return;
    std::vector<int64_t> rows(counts + layout.start[f], counts + layout.start[f + 1]);
    rows.resize(layout.n_bins[f] + 1, 0);
    by_feature[f] = best_of_feature(node, f, rows.data());
  });
  histograms_.release(counts);
}

}  // namespace rankgrove
