#include "forests/forest_grower.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "common/parallel.hpp"
#include "forests/criteria/entropy.hpp"
#include "forests/tree_grower.hpp"

namespace rankgrove::forests {
namespace {

constexpr double kNanosecondsPerTree = 1e6;  // or more

struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

// n log2 n for the largest node that a sample can have.
std::vector<double> log_table(const ForestData& data, const GrowOptions& options,
                              const SampleOptions& sample) {
  const bool needed = data.has_classes() && data.weight.empty() &&
                      options.criterion == Criterion::entropy &&
                      options.splitter != Splitter::random;
  if (!needed) return {};
  return x_log2_x_table(sample.unit == SampleUnit::documents ? sample.size : data.n_rows());
}

}  // namespace

void grow_forest(const ForestData& data, const GrowOptions& options, const SampleOptions& sample,
                 uint64_t seed, int64_t first_tree, std::vector<std::shared_ptr<Tree>>& trees,
                 int n_threads, const ForestProgress& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(50);
  constexpr int64_t kNodesPerLook = 16;
  const auto n_trees = static_cast<int64_t>(trees.size());
  const std::vector<double> table = log_table(data, options, sample);
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
    std::vector<int32_t> rows = draw_rows(sample, data.offsets, own_seed);
    if (!data.weight.empty()) {
      std::erase_if(rows, [&](int32_t row) { return data.weight[row] <= 0; });
    }
    trees[i] = std::make_shared<Tree>(
        grow_tree(data, options, std::move(rows), own_seed, table, heartbeat, scratch));
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
