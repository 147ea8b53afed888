#include "forests/data/forest_sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/random.hpp"

namespace rankgrove::forests {
namespace {

constexpr uint64_t kSampleStream = 1;

// Marks `size` of n units, each at most once.
void draw_distinct_units(const ForestSample& options, Random& random,
                         std::vector<uint32_t>& times) {
  std::vector<int32_t> units(times.size());
  std::iota(units.begin(), units.end(), 0);
  const size_t size = std::min(static_cast<size_t>(options.size), units.size());
  if (size == units.size()) {
    std::fill(times.begin(), times.end(), 1);
    return;
  }
  if (options.weights.empty()) {
    for (size_t i = 0; i < size; ++i) {
      std::swap(units[i], units[i + random.below(units.size() - i)]);
    }
  } else {
    // Efraimidis and Spirakis: the largest values of log(u) / weight are a weighted draw.
    std::vector<double> key(units.size());
    for (size_t unit = 0; unit < key.size(); ++unit) {
      key[unit] = std::log(1.0 - random.uniform()) / options.weights[unit];
    }
    std::nth_element(
        units.begin(), units.begin() + static_cast<int64_t>(size), units.end(),
        [&](int32_t a, int32_t b) { return key[a] != key[b] ? key[a] > key[b] : a < b; });
  }
  for (size_t i = 0; i < size; ++i) times[units[i]] = 1;
}

// How often each of the own ones of the units of all workers is drawn. Every worker makes all
// draws.
std::vector<uint32_t> draw_own_units(const ForestSample& options, int64_t n_own, Random& random) {
  const UnitShare& share = options.share;
  if (!options.replacement) {
    std::vector<uint32_t> all(static_cast<size_t>(share.n_all), 0);
    draw_distinct_units(options, random, all);
    return {all.begin() + share.first, all.begin() + share.first + n_own};
  }
  std::vector<uint32_t> times(static_cast<size_t>(n_own), 0);
  for (int64_t i = 0; i < options.size; ++i) {
    const int64_t own = options.weighted_draw.empty()
                            ? static_cast<int64_t>(random.below(share.n_all)) - share.first
                            : options.weighted_draw.own_place(random.uniform());
    if (own >= 0 && own < n_own) ++times[own];
  }
  return times;
}

// How often each of n units is drawn.
std::vector<uint32_t> draw_units(const ForestSample& options, int64_t n, Random& random) {
  if (!options.share.alone()) return draw_own_units(options, n, random);
  std::vector<uint32_t> times(static_cast<size_t>(n), 0);
  if (!options.replacement) {
    draw_distinct_units(options, random, times);
  } else if (options.weighted_draw.empty()) {
    for (int64_t i = 0; i < options.size; ++i) ++times[random.below(static_cast<uint64_t>(n))];
  } else {
    const WeightedDraw& draw = options.weighted_draw;
    for (int64_t i = 0; i < options.size; ++i) ++times[draw(random.uniform())];
  }
  return times;
}

// How often each row is drawn: as often as its query, if these are the units.
std::vector<uint32_t> draw_row_times(const ForestSample& options,
                                     const std::vector<int64_t>& offsets, uint64_t tree_seed) {
  Random random(tree_seed, kSampleStream);
  if (options.unit == SampleUnit::kDocuments) return draw_units(options, offsets.back(), random);
  const auto n_queries = static_cast<int64_t>(offsets.size()) - 1;
  const std::vector<uint32_t> of_query = draw_units(options, n_queries, random);
  std::vector<uint32_t> times(static_cast<size_t>(offsets.back()));
  for (int64_t q = 0; q < n_queries; ++q) {
    std::fill(times.begin() + offsets[q], times.begin() + offsets[q + 1], of_query[q]);
  }
  return times;
}

}  // namespace

uint64_t tree_seed(uint64_t seed, uint64_t tree_number) {
  return mix64(mix64(seed) + 0x632be59bd9b4e019ull * (tree_number + 1));
}

std::vector<uint32_t> draw_query_times(const ForestSample& options, int64_t n_queries,
                                       uint64_t tree_seed) {
  Random random(tree_seed, kSampleStream);
  return draw_units(options, n_queries, random);
}

std::vector<int32_t> draw_rows(const ForestSample& options, const std::vector<int64_t>& offsets,
                               uint64_t tree_seed) {
  const std::vector<uint32_t> times = draw_row_times(options, offsets, tree_seed);
  std::vector<int32_t> rows(std::reduce(times.begin(), times.end(), size_t{0}));
  int32_t* next = rows.data();
  for (size_t row = 0; row < times.size(); ++row) {
    for (uint32_t time = 0; time < times[row]; ++time) *next++ = static_cast<int32_t>(row);
  }
  return rows;
}

SampledRows draw_distinct_rows(const ForestSample& options, const std::vector<int64_t>& offsets,
                               uint64_t tree_seed) {
  SampledRows drawn{{}, draw_row_times(options, offsets, tree_seed)};
  drawn.rows.resize(drawn.times.size() + 1);
  int32_t* next = drawn.rows.data();
  for (size_t row = 0; row < drawn.times.size(); ++row) {  // without a jump, which nobody foresees
    *next = static_cast<int32_t>(row);
    next += drawn.times[row] > 0;
  }
  drawn.rows.resize(static_cast<size_t>(next - drawn.rows.data()));
  if (!options.replacement) drawn.times.clear();
  return drawn;
}

std::vector<uint8_t> draw_bag(const ForestSample& options, const std::vector<int64_t>& offsets,
                              uint64_t tree_seed) {
  const std::vector<uint32_t> times = draw_row_times(options, offsets, tree_seed);
  std::vector<uint8_t> bag(times.size());
  for (size_t row = 0; row < bag.size(); ++row) bag[row] = times[row] > 0;
  return bag;
}

}  // namespace rankgrove::forests
