#include "forests/forest_grower.hpp"

#include <omp.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "common/parallel.hpp"
#include "forests/criteria/entropy.hpp"
#include "forests/tree_grower.hpp"

namespace rankgrove::forests {
namespace {

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
  ExceptionCarrier carrier;
  const int used =
      static_cast<int>(std::clamp<int64_t>(n_threads, 1, std::max<int64_t>(n_trees, 1)));
#pragma omp parallel num_threads(used)
  {
    const bool calling_thread = omp_get_thread_num() == 0;
    Clock::time_point last = Clock::now();
    int64_t n_beats = 0;
    GrowingTree scratch;
    const Heartbeat heartbeat = [&] {
      if (carrier.failed()) throw Cancelled();
      if (!calling_thread || ++n_beats % kNodesPerLook != 0) return;
      const auto now = Clock::now();
      if (now - last < kPause) return;
      last = now;
      progress(n_done.load());
    };
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < n_trees; ++i) {
      carrier.run([&] {
        if (carrier.failed()) return;
        const uint64_t own_seed = tree_seed(seed, static_cast<uint64_t>(first_tree + i));
        std::vector<int32_t> rows = draw_rows(sample, data.offsets, own_seed);
        if (!data.weight.empty()) {
          std::erase_if(rows, [&](int32_t row) { return data.weight[row] <= 0; });
        }
        trees[i] = std::make_shared<Tree>(
            grow_tree(data, options, std::move(rows), own_seed, table, heartbeat, scratch));
        ++n_done;
        heartbeat();
      });
    }
  }
  carrier.rethrow();
  progress(n_done.load());
}

}  // namespace rankgrove::forests
