// The histograms of nodes: a pool of reusable memory, and the code that fills them.
//
// A histogram is an array of layout.size() packed sums; it is *wide* if the workers have so many
// rows that the two sums of each bin need separate words (see packed_gradients.hpp). Each worker
// builds it from its own rows of the node in the partition; sum_over_workers() replaces the bins of
// the features that this worker searches by those of all rows. The histogram of a node minus that
// of one child is that of the other child.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "trees/growth_state.hpp"
#include "trees/row_store.hpp"
#include "trees/split_search.hpp"

namespace rankgrove {

class HistogramPool {
 public:
  explicit HistogramPool(const GrowthState& state);
  HistogramPool(const HistogramPool&) = delete;
  HistogramPool& operator=(const HistogramPool&) = delete;

  // Takes memory for a histogram, with undefined content, and returns it (null is ignored).
  int64_t* acquire();
  void release(int64_t* histogram);

  // Writes the histogram of this worker's rows begin..end of the partition.
  void build(int64_t begin, int64_t end, int64_t* histogram);

  // Writes histograms feature by feature, where can_build_by_feature(): calls visit(feature), from
  // any thread, as soon as the bins of a feature are complete. A visit costs `nanoseconds`. There
  // can be more than one only where keeps() may say no.
  bool can_build_by_feature() const {
    return !state_.wide && (store_.by_groups() || store_.has_sparse());
  }
  template <typename Visit>
  void build_by_feature(std::span<PendingHistogram> wanted, int n_threads, double nanoseconds,
                        Visit&& visit);

  // Writes the numbers of rows of all workers, one per bin, in place of sums of gradients, for the
  // features that this worker searches.
  void build_row_counts(int64_t begin, int64_t end, int64_t* histogram);

  // Replaces the bins of this worker's features by their sums over all workers; others become
  // undefined. The words of `extra` are summed, too, for all workers.
  void sum_over_workers(int64_t* histogram, int64_t* extra = nullptr, size_t n_extra = 0) const;

  // Subtracts the bins of one feature, or of all that this worker searches, or the numbers of rows.
  void subtract(int32_t feature, const int64_t* part, int64_t* whole) const;
  void subtract(const int64_t* part, int64_t* whole) const;
  void subtract_row_counts(const int64_t* part, int64_t* whole) const;

  // The sums of this worker's rows: those of the bins of any feature, before they are summed over
  // workers.
  GradientSums total(const int64_t* histogram) const;

  // The sums of one bin of a feature that this worker searches, of its missing values, and of the
  // rows that a rule sends left.
  GradientSums bin(const int64_t* histogram, int32_t feature, int32_t bin) const;
  GradientSums missing(const int64_t* histogram, int32_t feature) const;
  GradientSums left(const int64_t* histogram, const CodeRule& rule) const;

  // The bins of a feature in the form that the search for splits reads, for a node with these sums.
  // Those of a wide histogram are scaled down, so that their sum fits into a word. They are valid
  // until the thread's next call.
  NodeBins bins(int32_t feature, const int64_t* histogram, const GradientSums& total) const;
  // The same for bins that the caller has added up: GradientSums of each, and of missing values.
  NodeBins bins(std::span<const GradientSums> sums) const;

  // Whether the histogram of a node is kept until the node is split. With sparse columns, it is not
  // kept if adding up its rows takes less than half the time of subtracting a histogram; then the
  // histograms of both children are built from rows. The histograms that are kept therefore take at
  // most some 40 bytes per entry of the data, for any number of leaves. Several workers keep all.
  //
  // Example: 50,000 rows with 200 entries each, in 20,000 features of 256 bins. A histogram is 5.1
  // million words, 41 MB. Half of a subtraction takes 2.6 ms, in which 5,400 rows are added up: at
  // most nine leaves keep a histogram at a time, where without this rule 31 would.
  bool keeps(int64_t n_rows) const {
    return !(can_build_by_feature() && store_.has_sparse() && state_.share.alone()) ||
           nanoseconds(n_rows) > kNanosecondsPerKeptBin * state_.layout.size();
  }

  // The cost of building the histogram of this many rows.
  double nanoseconds(int64_t n_rows) const { return store_.nanoseconds(n_rows); }

 private:
  static constexpr double kNanosecondsPerBuiltBin = 0.5;
  static constexpr double kNanosecondsPerKeptBin = 0.5;

  // Rows as the row store takes them: null for all rows of the matrix in their order.
  const int32_t* rows(int64_t begin, int64_t end) const;
  template <typename Visit>
  void build_by_groups(const PendingHistogram& wanted, int n_threads, double nanoseconds,
                       Visit&& visit);
  void build_wide(int64_t begin, int64_t end, int64_t* histogram);
  void subtract_words(const int64_t* part, int64_t* whole, int32_t words_per_bin) const;
  int32_t words_per_bin() const { return state_.wide ? 2 : 1; }

  const GrowthState& state_;
  RowStore store_;
  std::vector<std::unique_ptr<int64_t[]>> histograms_;  // all that were ever made
  std::vector<int64_t*> free_;
  std::vector<std::vector<int64_t>> partial_;  // the row store's scratch memory
  std::vector<int64_t> narrow_;                // a few rows of a wide histogram
  std::vector<size_t> wide_bounds_;            // of the workers' words in it
  std::vector<int64_t> ones_;                  // a 1 for each row, once rows have to be counted
};

template <typename Visit>
void HistogramPool::build_by_feature(std::span<PendingHistogram> wanted, int n_threads,
                                     double nanoseconds, Visit&& visit) {
  for (PendingHistogram& one : wanted) one.rows = rows(one.begin, one.end);
  if (!store_.has_sparse()) return build_by_groups(wanted[0], n_threads, nanoseconds, visit);
  store_.build(state_.packed.words.data(), wanted, n_threads, partial_, nanoseconds,
               [&](int32_t first, int32_t last) {
                 for (int32_t f = first; f < last; ++f) visit(f);
               });
}

// Each thread adds up rows for one group of features and takes out the features of this group, from
// the first one on; then it takes out the last ones of any group whose rows are added up. All
// threads finish at about the same time, and most features stay with one core.
template <typename Visit>
void HistogramPool::build_by_groups(const PendingHistogram& wanted, int n_threads,
                                    double nanoseconds, Visit&& visit) {
  struct alignas(64) Progress {
    std::atomic<bool> added_up{false};
    std::atomic<int64_t> n_taken{0}, n_taken_by_others{0};  // of its features
    int64_t total = 0;
  };
  const int64_t begin = wanted.begin, end = wanted.end;
  const int64_t* words = state_.packed.words.data();
  const HistogramLayout& layout = state_.layout;
  const int64_t n_groups = store_.n_groups();
  // If a visit throws, the sums are not all zero, and are dropped.
  std::vector<std::vector<int64_t>> sums = std::exchange(partial_, {});
  if (std::ssize(sums) < n_groups) sums.resize(n_groups);
  std::vector<Progress> progress(n_groups);
  const double work = store_.nanoseconds(end - begin) + kNanosecondsPerBuiltBin * layout.size() +
                      nanoseconds * layout.n_features();
  parallel_for(n_groups, n_threads, work / static_cast<double>(n_groups), [&](int64_t own) {
    progress[own].total = store_.add_up(own, words, wanted.rows, begin, end, sums[own]);
    progress[own].added_up.store(true, std::memory_order_release);
    for (int64_t i = 0; i < n_groups; ++i) {
      const int64_t group = (own + i) % n_groups;
      auto& [added_up, n_taken, n_taken_by_others, total] = progress[group];
      if (!added_up.load(std::memory_order_acquire)) continue;
      const int64_t n_features = store_.n_features(group);
      for (int64_t n_mine = 0; n_taken.fetch_add(1) < n_features; ++n_mine) {
        const int64_t number = group == own ? n_mine : n_features - 1 - n_taken_by_others++;
        visit(store_.take_feature(group, number, total, sums[group], wanted.histogram));
      }
    }
  });
  partial_ = std::move(sums);
}

}  // namespace rankgrove
