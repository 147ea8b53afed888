#include "trees/feature_sample.hpp"

#include <algorithm>
#include <numeric>

#include "common/random.hpp"

namespace rankgrove {
namespace {

// A sorted draw without replacement of a share of the pool, at least one feature.
std::vector<int32_t> draw_share(const std::vector<int32_t>& pool, double share, uint64_t seed,
                                uint64_t stream) {
  const auto wanted =
      std::clamp<size_t>(static_cast<size_t>(share * static_cast<double>(pool.size()) + 0.5), 1,
                         std::max<size_t>(pool.size(), 1));
  if (wanted >= pool.size()) return pool;
  std::vector<int32_t> drawn = pool;
  std::vector<uint8_t> is_drawn(pool.back() + 1, 0);  // by feature: quicker than sorting them
  Random random(seed, stream);
  for (size_t i = 0; i < wanted; ++i) {
    std::swap(drawn[i], drawn[i + random.below(drawn.size() - i)]);
    is_drawn[drawn[i]] = 1;
  }
  drawn.resize(wanted);
  auto next = drawn.begin();
  for (const int32_t f : pool) {
    *next = f;
    next += is_drawn[f];
    if (next == drawn.end()) break;
  }
  return drawn;
}

}  // namespace

void FeatureSample::start_tree(uint64_t seed) {
  seed_ = seed;
  std::vector<int32_t> all(n_features_);
  std::iota(all.begin(), all.end(), 0);
  of_tree_ = draw_share(all, tree_share_, seed, 0);
}

std::vector<int32_t> FeatureSample::of_node(int32_t number) const { return draw(of_tree_, number); }

std::vector<int32_t> FeatureSample::draw(const std::vector<int32_t>& pool, int32_t node) const {
  return draw_share(pool, node_share_, seed_, static_cast<uint64_t>(node) + 1);
}

}  // namespace rankgrove
