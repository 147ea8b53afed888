#include "forests/growing/forest_grower.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "common/parallel.hpp"
#include "forests/criteria/registry.hpp"
#include "forests/growing/forest_tree.hpp"

namespace rankgrove::forests {
namespace {

constexpr double kNanosecondsPerTree = 1e6;  // or more

struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

// What the criterion looks up for nodes of up to the largest size that a sample can have.
CriterionTable criterion_table(const ForestData& data, const ForestOptions& options,
                               const ForestSample& sample) {
  CriterionTable table;
  if (options.splitter == Splitter::random || options.custom) return table;
  const int64_t largest_node =
      sample.unit == SampleUnit::documents ? sample.size : data.features.n_rows();
  visit_criterion(options.criterion, [&](auto criterion) {
    if (!criterion.needs_classes || data.targets.has_classes()) {
      table = criterion.table(data.targets, largest_node);
    }
  });
  return table;
}

// Whether trees need a row once only, however often it was drawn: there is less to look at.
bool counts_repeats(const ForestData& data, const ForestOptions& options,
                    const ForestSample& sample) {
  if (sample.unit != SampleUnit::documents || options.splitter == Splitter::random ||
      options.custom || options.listwise_levels > 0) {
    return false;
  }
  bool result = false;
  visit_criterion(options.criterion, [&](auto criterion) {
    result = criterion.counts_repeats(data.targets, sample.size);
  });
  return result;
}

}  // namespace

void grow_forest(const ForestData& data, const ForestOptions& options, const ForestSample& sample,
                 uint64_t seed, int64_t first_tree, std::vector<std::shared_ptr<Tree>>& trees,
                 int n_threads, const ForestProgress& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(50);
  constexpr int64_t kNodesPerLook = 16;
  const auto n_trees = static_cast<int64_t>(trees.size());
  const CriterionTable table = criterion_table(data, options, sample);
  const bool distinct = counts_repeats(data, options, sample);
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
    const uint64_t own_seed = tree_seed(seed, static_cast<uint64_t>(first_tree + i));
    SampledRows drawn = distinct
                            ? draw_distinct_rows(sample, data.features.offsets, own_seed)
                            : SampledRows{draw_rows(sample, data.features.offsets, own_seed), {}};
    if (!data.targets.weight.empty()) {
      std::erase_if(drawn.rows, [&](int32_t row) { return data.targets.weight[row] <= 0; });
    }
    trees[i] = std::make_shared<Tree>(
        grow_tree(data, options, std::move(drawn), own_seed, table, heartbeat, scratch));
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
