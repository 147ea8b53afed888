// The histograms of nodes, and their best splits over all features that they draw.
#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"
#include "trees/open_node.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerBin = 1.6;
constexpr double kNanosecondsPerBuiltBin = 0.5;
constexpr double kNanosecondsPerCountedBin = 4.0;
constexpr int kFewCounts = 8;
constexpr double kNoGain = -std::numeric_limits<double>::infinity();

RANKGROVE_SIMD void subtract(const int64_t* __restrict part, int32_t n, int64_t* __restrict whole) {
  for (int32_t b = 0; b < n; ++b) whole[b] -= part[b];
}

}  // namespace

// What a tree costs, as far as it is known beforehand: its first histogram, and searches.
double TreeGrower::tree_nanoseconds(int64_t n_rows) const {
  const double n_searches = std::min<double>(options_.max_leaf_nodes, static_cast<double>(n_rows));
  return store_.nanoseconds(n_rows) +
         n_searches * kNanosecondsPerBin * static_cast<double>(layout_.size());
}

double TreeGrower::mean_bins() const {
  return static_cast<double>(layout_.size()) / std::max(1, layout_.n_features());
}

void TreeGrower::build_histogram(int64_t begin, int64_t end, int64_t* histogram) {
  if (store_.by_groups()) {
    build_by_groups({begin, end, histogram}, n_threads_, 0.0, [](int32_t) {});
    return;
  }
  const bool whole = samples_all_rows_ && begin == 0 && end == partition_.size();
  store_.build(packed_.words.data(), whole ? nullptr : partition_.rows(), begin, end, n_threads_,
               partial_histograms_, histogram);
}

// Each thread adds up rows for one group and takes its features out, the first ones first, then
// the last ones of any group whose rows are added up: so all are done at about the same time, and
// most features stay with one core.
template <typename Visit>
void TreeGrower::build_by_groups(const Unbuilt& unbuilt, int n_threads, double nanoseconds,
                                 Visit&& visit) {
  struct alignas(64) Progress {
    std::atomic<bool> added_up{false};
    std::atomic<int64_t> n_taken{0}, n_taken_by_others{0};  // of its features
    int64_t total = 0;
  };
  const int64_t n_rows = unbuilt.end - unbuilt.begin;
  const bool whole = samples_all_rows_ && n_rows == partition_.size();
  const int32_t* rows = whole ? nullptr : partition_.rows();
  const int64_t n_groups = store_.n_groups();
  // If a visit throws, sums are not all zero, and go.
  std::vector<std::vector<int64_t>> sums = std::exchange(partial_histograms_, {});
  if (std::ssize(sums) < n_groups) sums.resize(n_groups);
  std::vector<Progress> progress(n_groups);
  const double work = store_.nanoseconds(n_rows) + kNanosecondsPerBuiltBin * layout_.size() +
                      nanoseconds * layout_.n_features();
  parallel_for(n_groups, n_threads, work / static_cast<double>(n_groups), [&](int64_t own) {
    progress[own].total =
        store_.add_up(own, packed_.words.data(), rows, unbuilt.begin, unbuilt.end, sums[own]);
    progress[own].added_up.store(true, std::memory_order_release);
    for (int64_t i = 0; i < n_groups; ++i) {
      const int64_t group = (own + i) % n_groups;
      auto& [added_up, n_taken, n_taken_by_others, total] = progress[group];
      if (!added_up.load(std::memory_order_acquire)) continue;
      const int64_t n_features = store_.n_features(group);
      for (int64_t n_mine = 0; n_taken.fetch_add(1) < n_features; ++n_mine) {
        const int64_t number = group == own ? n_mine : n_features - 1 - n_taken_by_others++;
        visit(store_.take_feature(group, number, total, sums[group], unbuilt.histogram));
      }
    }
  });
  partial_histograms_ = std::move(sums);
}

// A sorted draw without replacement of a share of the pool, at least one feature.
std::vector<int32_t> TreeGrower::draw_features(const std::vector<int32_t>& pool, double share,
                                               uint64_t seed, uint64_t stream) const {
  const auto wanted =
      std::clamp<size_t>(static_cast<size_t>(share * static_cast<double>(pool.size()) + 0.5), 1,
                         std::max<size_t>(pool.size(), 1));
  if (wanted >= pool.size()) return pool;
  std::vector<int32_t> drawn = pool;
  Random random(seed, stream);
  for (size_t i = 0; i < wanted; ++i) {
    std::swap(drawn[i], drawn[i + random.below(drawn.size() - i)]);
  }
  drawn.resize(wanted);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// Finds the best splits of those of the nodes that have a histogram, all in one go, feature by
// feature; one of the histograms may still have to be built, and one to become the remainder.
void TreeGrower::find_splits(std::initializer_list<OpenNode*> nodes, const Unbuilt& unbuilt,
                             const Remainder& remainder, uint64_t seed) {
  searches_.resize(nodes.size());
  auto last = searches_.begin();
  for (OpenNode* node : nodes) {
    if (!node->histogram) continue;
    last->node = node;
    last->drawn.assign(layout_.n_features(), 0);
    last->by_feature.assign(layout_.n_features(), {});
    last->known_gain = kNoGain;
    for (const int32_t f :
         draw_features(tree_features_, options_.max_features_node, seed, node->node + 1)) {
      last->drawn[f] = 1;
    }
    ++last;
  }
  if (last == searches_.begin()) return;  // and nothing waits to be built
  const int threads = options_.rules.criterion ? 1 : n_threads_;
  const double cost =
      kNanosecondsPerBin * mean_bins() * static_cast<double>(last - searches_.begin());
  const auto search_feature = [&](int32_t f) {
    if (remainder.whole) {
      const int32_t first = layout_.start[f];
      subtract(remainder.part + first, layout_.start[f + 1] - first, remainder.whole + first);
    }
    for (auto search = searches_.begin(); search != last; ++search) {
      if (!search->drawn[f]) continue;
      const OpenNode& node = *search->node;
      // If another thread overwrites a gain by a lower one, more splits are looked at, and that is
      // all. Where rows are yet to be counted, the best may fail, and others are asked for.
      const std::atomic_ref known(search->known_gain);
      const double least = node.rows_counted ? kNoGain : known.load(std::memory_order_relaxed);
      Split& split = search->by_feature[f];
      split = search_.best_of_feature(f, node.histogram, node.sums, packed_, nullptr, least);
      if (split.gain > least) known.store(split.gain, std::memory_order_relaxed);
    }
  };
  if (unbuilt.histogram) {
    build_by_groups(unbuilt, threads, cost, search_feature);
  } else {
    parallel_for(layout_.n_features(), threads, cost,
                 [&](int64_t task) { search_feature(static_cast<int32_t>(task)); });
  }
  for (auto search = searches_.begin(); search != last; ++search) {
    choose_split(*search->node, search->by_feature);
  }
}

void TreeGrower::choose_split(OpenNode& node, std::vector<Split>& by_feature) {
  Split best;
  if (node.rows_counted) {
    best = best_with_enough_rows(node, by_feature);
  } else {
    for (const Split& split : by_feature) {
      if (split.found() && split.gain > best.gain) best = split;
    }
  }
  // Where the node has no missing value, one that comes later follows the heavier child. (Rows
  // whose sums are 0 may follow it too, unless the children's rows have been counted.)
  if (best.found() && !best.missing_left && !has_missing(node, best.feature)) {
    best.missing_left = 2 * int64_t{hessian_field(best.left)} >= hessian_field(node.sums.total);
  }
  node.split = best;
}

bool TreeGrower::has_missing(const OpenNode& node, int32_t feature) const {
  const int32_t n_bins = layout_.n_bins[feature];
  if (!layout_.missing[feature]) return false;
  if (node.histogram[layout_.start[feature] + n_bins] != 0) return true;
  if (!node.rows_counted) return false;
  std::vector<int64_t> counts(n_bins + 1, 0);
  partition_.count_codes(node.begin, node.end, feature, counts.data());
  share_.sum(counts.data(), counts.size());
  return counts[n_bins] > 0;
}

// The best split whose children have enough rows. Histograms hold weights, not numbers of rows, so
// the rows of each feature that comes out best are counted; where several have too few, as sparse
// features do, those of all features at once.
Split TreeGrower::best_with_enough_rows(const OpenNode& node, std::vector<Split>& by_feature) {
  std::vector<uint8_t> counted(by_feature.size(), 0);
  for (int n_counted = 0;; ++n_counted) {
    if (n_counted == kFewCounts) {
      count_all_rows(node, by_feature);
      counted.assign(by_feature.size(), 1);
    }
    size_t best = by_feature.size();
    double gain = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < by_feature.size(); ++i) {
      if (by_feature[i].found() && by_feature[i].gain > gain) {
        best = i;
        gain = by_feature[i].gain;
      }
    }
    if (best == by_feature.size()) return {};
    const Split& split = by_feature[best];
    if (counted[best]) return split;
    std::vector<int64_t> counts(layout_.n_bins[split.feature] + 1, 0);
    partition_.count_codes(node.begin, node.end, split.feature, counts.data());
    share_.sum(counts.data(), counts.size());
    by_feature[best] =
        search_.best_of_feature(split.feature, node.histogram, node.sums, packed_, counts.data());
    counted[best] = 1;
  }
}

// Searches the features again that have a split, with the numbers of rows in all their bins: a
// histogram in which every row weighs 1.
void TreeGrower::count_all_rows(const OpenNode& node, std::vector<Split>& by_feature) {
  ones_.resize(binned_->n_rows, 1);
  int64_t* counts = new_histogram();
  store_.build(ones_.data(), partition_.rows(), node.begin, node.end, n_threads_,
               partial_histograms_, counts);
  share_.sum(counts, layout_.size());
  const int threads = options_.rules.criterion ? 1 : n_threads_;
  parallel_for(
      static_cast<int64_t>(by_feature.size()), threads, kNanosecondsPerCountedBin * mean_bins(),
      [&](int64_t i) {
        const int32_t f = by_feature[i].feature;
        if (f < 0) return;
        std::vector<int64_t> rows(counts + layout_.start[f], counts + layout_.start[f + 1]);
        rows.resize(layout_.n_bins[f] + 1, 0);
        by_feature[i] = search_.best_of_feature(f, node.histogram, node.sums, packed_, rows.data());
      });
  free_histograms_.push_back(counts);
}

}  // namespace rankgrove
