#include "forests/data/forest_sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/random.hpp"

namespace rankgrove::forests {
namespace {

constexpr uint64_t kSampleStream = 1;

std::vector<int32_t> draw_queries(const ForestSample& options, int32_t n_queries, Random& random) {
  std::vector<int32_t> queries(n_queries);
  std::iota(queries.begin(), queries.end(), 0);
  const auto size = static_cast<size_t>(std::min<int64_t>(options.size, n_queries));
  if (size == queries.size()) return queries;
  if (options.query_weights.empty()) {
    for (size_t i = 0; i < size; ++i) {
      std::swap(queries[i], queries[i + random.below(queries.size() - i)]);
    }
  } else {
    // Efraimidis and Spirakis: the largest values of log(u) / weight are a weighted draw.
    std::vector<double> key(n_queries);
    for (int32_t q = 0; q < n_queries; ++q) {
      key[q] = std::log(1.0 - random.uniform()) / options.query_weights[q];
    }
    std::partial_sort(
        queries.begin(), queries.begin() + static_cast<int64_t>(size), queries.end(),
        [&](int32_t a, int32_t b) { return key[a] != key[b] ? key[a] > key[b] : a < b; });
  }
  queries.resize(size);
  std::sort(queries.begin(), queries.end());
  return queries;
}

std::vector<int32_t> rows_of_queries(const ForestSample& options,
                                     const std::vector<int64_t>& offsets, Random& random) {
  const auto n_queries = static_cast<int32_t>(offsets.size()) - 1;
  std::vector<int32_t> rows;
  for (const int32_t query : draw_queries(options, n_queries, random)) {
    for (int64_t row = offsets[query]; row < offsets[query + 1]; ++row) {
      rows.push_back(static_cast<int32_t>(row));
    }
  }
  return rows;
}

// How often each row is drawn.
std::vector<uint32_t> draw_documents(const ForestSample& options, int64_t n_rows, Random& random) {
  std::vector<uint32_t> times(static_cast<size_t>(n_rows), 0);
  if (options.document_weights.empty()) {
    for (int64_t i = 0; i < options.size; ++i) {
      ++times[random.below(static_cast<uint64_t>(n_rows))];
    }
  } else {
    const WeightedDraw& draw = options.document_weights;
    for (int64_t i = 0; i < options.size; ++i) ++times[draw(random.uniform())];
  }
  return times;
}

}  // namespace

uint64_t tree_seed(uint64_t seed, uint64_t tree_number) {
  return mix64(mix64(seed) + 0x632be59bd9b4e019ull * (tree_number + 1));
}

std::vector<int32_t> draw_rows(const ForestSample& options, const std::vector<int64_t>& offsets,
                               uint64_t tree_seed) {
  Random random(tree_seed, kSampleStream);
  if (options.unit == SampleUnit::queries) return rows_of_queries(options, offsets, random);
  const std::vector<uint32_t> times = draw_documents(options, offsets.back(), random);
  std::vector<int32_t> rows(static_cast<size_t>(options.size));
  int32_t* next = rows.data();
  for (size_t row = 0; row < times.size(); ++row) {
    for (uint32_t time = 0; time < times[row]; ++time) *next++ = static_cast<int32_t>(row);
  }
  return rows;
}

SampledRows draw_distinct_rows(const ForestSample& options, const std::vector<int64_t>& offsets,
                               uint64_t tree_seed) {
  Random random(tree_seed, kSampleStream);
  if (options.unit == SampleUnit::queries) return {rows_of_queries(options, offsets, random), {}};
  SampledRows drawn{{}, draw_documents(options, offsets.back(), random)};
  drawn.rows.resize(drawn.times.size());
  int32_t* next = drawn.rows.data();
  for (size_t row = 0; row < drawn.times.size(); ++row) {  // without a jump, which nobody foresees
    *next = static_cast<int32_t>(row);
    next += drawn.times[row] > 0;
  }
  drawn.rows.resize(static_cast<size_t>(next - drawn.rows.data()));
  return drawn;
}

std::vector<uint8_t> draw_bag(const ForestSample& options, const std::vector<int64_t>& offsets,
                              uint64_t tree_seed) {
  Random random(tree_seed, kSampleStream);
  std::vector<uint8_t> bag(static_cast<size_t>(offsets.back()), 0);
  if (options.unit == SampleUnit::queries) {
    for (const int32_t row : rows_of_queries(options, offsets, random)) bag[row] = 1;
    return bag;
  }
  const std::vector<uint32_t> times = draw_documents(options, offsets.back(), random);
  for (size_t row = 0; row < bag.size(); ++row) bag[row] = times[row] > 0;
  return bag;
}

}  // namespace rankgrove::forests
