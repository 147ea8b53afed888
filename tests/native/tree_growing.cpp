#include <algorithm>
#include <memory>
#include <vector>

#include "check.hpp"
#include "common/random.hpp"
#include "trees/feature_sample.hpp"
#include "trees/row_codes.hpp"
#include "trees/row_partition.hpp"
#include "trees/row_store.hpp"

namespace {

using namespace rankgrove;

// A matrix with the given bins per feature and random codes; about half of the codes of every
// second feature are 0. Feature 1 has missing values.
template <typename Code>
BinnedMatrix random_matrix(const std::vector<int32_t>& n_bins, int64_t n_rows, Random& random) {
  auto bins = std::make_shared<Bins>();
  auto codes = std::make_shared<std::vector<Code>>();
  bins->offsets = {0};
  for (size_t f = 0; f < n_bins.size(); ++f) {
    for (int32_t b = 0; b + 1 < n_bins[f]; ++b) bins->cuts.push_back(float(b));
    bins->offsets.push_back(int64_t(bins->cuts.size()));
    bins->has_missing.push_back(f == 1);
    const auto n_codes = uint64_t(n_bins[f] + (f == 1));
    for (int64_t i = 0; i < n_rows; ++i) {
      const bool usual = f % 2 == 0 && random.below(2) == 0;
      codes->push_back(usual ? Code{0} : Code(random.below(n_codes)));
    }
  }
  bins->has_infinity.assign(n_bins.size(), 0);
  BinnedMatrix matrix;
  matrix.bins = bins;
  matrix.n_rows = n_rows;
  matrix.wide = sizeof(Code) == 2;
  matrix.codes = std::shared_ptr<const void>(codes, codes->data());
  return matrix;
}

template <typename Code>
void check_histograms(const std::vector<int32_t>& n_bins, int64_t n_rows) {
  Random random(7, uint64_t(n_rows));
  const BinnedMatrix matrix = random_matrix<Code>(n_bins, n_rows, random);
  const HistogramLayout layout(*matrix.bins);
  std::vector<int64_t> words;
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < n_rows; ++i) {
    words.push_back(int64_t(random.below(1000)) - 500);
    if (random.below(3) > 0) rows.push_back(int32_t(i));
  }
  const auto end = int64_t(rows.size());
  std::vector<int64_t> expected(size_t(layout.size()), 0);
  for (int32_t f = 0; f < layout.n_features(); ++f) {
    for (const int32_t row : rows) {
      expected[size_t(layout.start[f] + matrix.column<Code>(f)[row])] += words[size_t(row)];
    }
  }
  for (const int n_threads : {1, 2, 4}) {
    const RowStore store(matrix, layout, n_threads);
    std::vector<std::vector<int64_t>> scratch;
    std::vector<int64_t> built(expected.size(), -1);
    for (int time = 0; time < 2; ++time) {  // the second histogram finds the scratch memory clean
      store.build(words.data(), rows.data(), 0, end, n_threads, scratch, built.data());
      CHECK(built == expected);
    }
    if (!store.by_groups()) continue;
    std::fill(built.begin(), built.end(), -1);
    for (int64_t group = 0; group < store.n_groups(); ++group) {
      std::vector<int64_t> sums;
      const int64_t total = store.add_up(group, words.data(), rows.data(), 0, end, sums);
      for (int64_t i = store.n_features(group) - 1; i >= 0; --i) {
        store.take_feature(group, i, total, sums, built.data());
      }
      CHECK(std::count(sums.begin(), sums.end(), 0) == std::ssize(sums));
    }
    CHECK(built == expected);
  }
}

}  // namespace

CASE("a histogram holds the sum of the words of each bin's rows") {
  const std::vector<int32_t> narrow = {3, 255, 1, 17, 2, 200, 40, 9};
  for (const int64_t n_rows : {1, 6, 129, 3000}) {
    check_histograms<uint8_t>(narrow, n_rows);
    check_histograms<uint16_t>({3, 700, 1, 17}, n_rows);
  }
  check_histograms<uint8_t>(std::vector<int32_t>(40, 30), 500);  // features by groups
}

CASE("a partition keeps the order of rows on both sides and can be undone") {
  Random random(3, 0);
  const BinnedMatrix matrix = random_matrix<uint8_t>({5, 4, 7}, 20000, random);
  std::vector<int32_t> rows;
  for (int32_t i = 0; i < 20000; ++i) {
    if (random.below(4) > 0) rows.push_back(i);
  }
  std::vector<int32_t> room(rows.size());
  RowPartition partition(matrix);
  for (const bool missing_left : {false, true}) {
    for (const int n_threads : {1, 2}) {
      partition.reset(rows.data(), std::ssize(rows), room.data(), n_threads);
      const int64_t middle = partition.split(0, partition.size(), {1, 1, missing_left}, n_threads);
      std::vector<int32_t> expected = rows;
      const auto right = std::stable_partition(expected.begin(), expected.end(), [&](int32_t row) {
        const uint8_t code = matrix.column<uint8_t>(1)[row];
        return code == matrix.missing_bin(1) ? missing_left : code <= 1;
      });
      CHECK(middle == right - expected.begin());
      CHECK(std::equal(expected.begin(), expected.end(), partition.rows()));
      partition.undo_split(0, middle, partition.size());
      CHECK(std::equal(rows.begin(), rows.end(), partition.rows()));
    }
  }
}

CASE("features of a node are an ascending part of those of its tree, and follow from the seed") {
  FeatureSample sample(50, 0.5, 0.4);
  sample.start_tree(11);
  const std::vector<int32_t> first = sample.of_node(0);
  CHECK(first.size() == 10);
  CHECK(std::is_sorted(first.begin(), first.end()));
  CHECK(first != sample.of_node(1));
  FeatureSample whole_tree(50, 0.5, 1.0);
  whole_tree.start_tree(11);
  const std::vector<int32_t> tree = whole_tree.of_node(0);
  CHECK(tree.size() == 25);
  CHECK(std::includes(tree.begin(), tree.end(), first.begin(), first.end()));
  sample.start_tree(12);
  CHECK(first != sample.of_node(0));
  sample.start_tree(11);
  CHECK(first == sample.of_node(0));
  FeatureSample least(3, 0.01, 0.01);
  least.start_tree(0);
  CHECK(least.of_node(0).size() == 1);
}

CASE("bins that are added up from codes by row are sums over these rows, for any features") {
  Random random(9);
  const BinnedMatrix matrix = random_matrix<uint8_t>({3, 7, 255, 9, 40, 2}, 300, random);
  const HistogramLayout layout(*matrix.bins);
  const RowCodes codes(matrix, layout);
  CHECK(!codes.empty());
  std::vector<int64_t> words;
  std::vector<int32_t> rows;
  for (int32_t row = 0; row < 300; ++row) {
    words.push_back(int64_t(random.below(1000)) - 500);
    if (random.below(3) > 0) rows.push_back(row);
  }
  for (const std::vector<int32_t>& features :
       {std::vector<int32_t>{0, 1, 2, 5}, std::vector<int32_t>{1, 3, 4}}) {
    std::vector<int64_t> expected(RowCodes::kAtOnce * RowCodes::kWords), bins(expected.size());
    for (size_t j = 0; j < features.size(); ++j) {
      for (const int32_t row : rows) {
        const size_t code = matrix.column<uint8_t>(features[j])[row];
        expected[j * RowCodes::kWords + code] += words[size_t(row)];
      }
    }
    codes.add_up(features, words.data(), rows, bins.data());
    CHECK(bins == expected);
  }
}

CASE("codes of missing values without a bin, and codes of 16 bits, are not kept by row") {
  Random random(9);
  BinnedMatrix matrix = random_matrix<uint8_t>({3, 7}, 300, random);
  auto bins = std::make_shared<Bins>(*matrix.bins);
  bins->has_missing[1] = 0;
  matrix.bins = bins;
  CHECK(RowCodes(matrix, HistogramLayout(*matrix.bins)).empty());
  const BinnedMatrix wide = random_matrix<uint16_t>({3, 7}, 300, random);
  CHECK(RowCodes(wide, HistogramLayout(*wide.bins)).empty());
}
