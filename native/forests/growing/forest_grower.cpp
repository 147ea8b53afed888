#include "forests/growing/forest_grower.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "common/parallel.hpp"
#include "forests/criteria/registry.hpp"
#include "forests/growing/forest_tree.hpp"

namespace rankgrove::forests {
namespace {

constexpr double kNanosecondsPerTree = 1e6;  // or more

struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

// The trees of one call.
struct TreeNumbers {
  uint64_t seed;
  int64_t first;
  int64_t n;

  uint64_t own_seed(int64_t i) const { return tree_seed(seed, static_cast<uint64_t>(first + i)); }
};

// The most documents that the sample of a tree has.
int64_t largest_sample(const ForestData& data, const ForestSample& sample,
                       const TreeNumbers& numbers) {
  if (!sample.replacement) return data.features.n_rows();
  if (sample.unit == SampleUnit::kDocuments) return sample.size;
  const std::vector<int64_t>& offsets = data.features.offsets;
  int64_t largest = 0;
  for (int64_t i = 0; i < numbers.n; ++i) {
    const auto n_queries = static_cast<int64_t>(offsets.size()) - 1;
    const std::vector<uint32_t> times = draw_query_times(sample, n_queries, numbers.own_seed(i));
    int64_t n_documents = 0;
    for (int64_t q = 0; q < n_queries; ++q) n_documents += times[q] * (offsets[q + 1] - offsets[q]);
    largest = std::max(largest, n_documents);
  }
  return largest;
}

}  // namespace

CriterionTable criterion_table(const ForestData& data, const ForestOptions& options,
                               int64_t largest_node) {
  CriterionTable table;
  if (options.splitter == Splitter::kRandom || options.custom) return table;
  visit_criterion(options.criterion, [&](auto criterion) {
    if (!criterion.needs_classes || data.targets.has_classes()) {
      table = criterion.table(data.targets, largest_node);
    }
  });
  return table;
}

bool counts_repeats(const ForestData& data, const ForestOptions& options,
                    const ForestSample& sample, int64_t largest_node) {
  if (!sample.replacement || options.splitter == Splitter::kRandom || options.custom ||
      options.listwise_levels > 0) {
    return false;
  }
  bool result = false;
  visit_criterion(options.criterion, [&](auto criterion) {
    result = criterion.counts_repeats(data.targets, largest_node);
  });
  return result;
}

namespace {

// Targets of a listwise tree whose queries were drawn with replacement: a query that was drawn
// twice weighs twice, in its documents' targets and in the metric.
ForestTargets weighted_targets(const ForestData& data, const std::vector<uint32_t>& row_times) {
  ForestTargets targets = data.targets;
  if (targets.weight.empty()) targets.weight.assign(row_times.size(), 1.0);
  for (size_t row = 0; row < row_times.size(); ++row) targets.weight[row] *= row_times[row];
  const std::vector<int64_t>& offsets = data.features.offsets;
  for (size_t q = 0; q + 1 < offsets.size(); ++q) {
    const uint32_t times = offsets[q] < offsets[q + 1] ? row_times[offsets[q]] : 0;
    targets.metric.scale[q] *= times;
    targets.metric.weight[q] *= times;
  }
  return targets;
}

}  // namespace

void grow_forest(const ForestData& data, const ForestOptions& options, const ForestSample& sample,
                 uint64_t seed, int64_t first_tree, std::vector<std::shared_ptr<Tree>>& trees,
                 int n_threads, const ForestProgress& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(50);
  constexpr int64_t kNodesPerLook = 16;
  const auto n_trees = static_cast<int64_t>(trees.size());
  const TreeNumbers numbers{seed, first_tree, n_trees};
  const int64_t largest_node = largest_sample(data, sample, numbers);
  const CriterionTable table = criterion_table(data, options, largest_node);
  const bool weighted = sample.replacement && options.listwise_levels > 0;
  const bool distinct = weighted || counts_repeats(data, options, sample, largest_node);
  std::atomic<int64_t> n_done{0};
  std::atomic<bool> failed{false};
  const auto calling_thread = std::this_thread::get_id();
  Clock::time_point last = Clock::now();
  int64_t n_beats = 0;  // of the calling thread
  const Heartbeat heartbeat = [&] {
    if (failed.load(std::memory_order_relaxed)) throw Cancelled();
    if (std::this_thread::get_id() != calling_thread || ++n_beats % kNodesPerLook != 0) return;
    const auto now = Clock::now();
    if (now - last < kPause) return;
    last = now;
    progress(n_done.load());
  };
  const auto grow_one = [&](int64_t i, GrowingTree& scratch) {
    const uint64_t own_seed = numbers.own_seed(i);
    SampledRows drawn = distinct
                            ? draw_distinct_rows(sample, data.features.offsets, own_seed)
                            : SampledRows{draw_rows(sample, data.features.offsets, own_seed), {}};
    if (!data.targets.weight.empty()) {
      std::erase_if(drawn.rows, [&](int32_t row) { return data.targets.weight[row] <= 0; });
    }
    if (weighted) {
      const ForestTargets targets = weighted_targets(data, std::exchange(drawn.times, {}));
      trees[i] =
          std::make_shared<Tree>(grow_tree({data.features, targets}, options, std::move(drawn),
                                           own_seed, table, heartbeat, scratch));
    } else {
      trees[i] = std::make_shared<Tree>(
          grow_tree(data, options, std::move(drawn), own_seed, table, heartbeat, scratch));
    }
    ++n_done;
    heartbeat();
  };
  parallel_for(
      n_trees, n_threads, kNanosecondsPerTree, [] { return GrowingTree(); },
      [&](int64_t i, GrowingTree& scratch) {
        try {
          grow_one(i, scratch);
        } catch (const Cancelled&) {  // another tree has failed: its exception is the one to tell
        } catch (...) {
          failed.store(true);
          throw;
        }
      });
  progress(n_done.load());
}

}  // namespace rankgrove::forests
