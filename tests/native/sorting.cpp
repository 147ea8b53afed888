#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "common/random.hpp"
#include "forests/listwise/child_score_index.hpp"
#include "forests/nodes/stable_partition.hpp"
#include "forests/pointwise/code_ranks.hpp"
#include "metrics/ranked_query.hpp"
#include "metrics/ranking_order.hpp"

namespace {

using rankgrove::Random;

// Scores of several kinds: spread out, with many ties, close together, with infinities.
std::vector<double> some_scores(size_t n, uint64_t seed) {
  Random random(seed, n);
  std::vector<double> scores(n);
  for (double& score : scores) {
    switch (seed % 4) {
      case 0:
        score = random.uniform() * 20 - 10;
        break;
      case 1:
        score = static_cast<double>(random.below(5)) - 2;
        break;
      case 2:
        score = 1.0 + 1e-15 * static_cast<double>(random.below(9));
        break;
      default:
        score = random.below(8) == 0 ? (random.below(2) ? INFINITY : -INFINITY)
                                     : std::exp(600 * (random.uniform() - 0.5));
    }
    if (score == 0 && random.below(2)) score = -score;
  }
  return scores;
}

std::vector<int32_t> sorted_plainly(const std::vector<double>& scores) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
  return order;
}

constexpr size_t kSizes[] = {1, 2, 3, 31, 32, 33, 127, 128, 129, 256, 500, 512, 513, 1000, 3000};

}  // namespace

CASE("rankings of metrics are stable sorts by descending score, to any depth") {
  rankgrove::RankedQuery ranked;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    for (const size_t n : kSizes) {
      const std::vector<double> scores = some_scores(n, seed);
      const std::vector<int32_t> order = sorted_plainly(scores);
      for (const int64_t depth : {int64_t{1}, int64_t{10}, int64_t{40}, int64_t(n)}) {
        ranked.rank(scores.data(), int64_t(n), depth, seed % 2 == 1);
        CHECK(ranked.length() >= std::min(depth, int64_t(n)));
        for (int64_t rank = 0; rank < ranked.length(); ++rank) {
          CHECK(ranked.document(rank) == order[size_t(rank)]);
        }
      }
    }
  }
}

CASE("rankings of objectives are stable sorts by descending score") {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    rankgrove::RankingOrder ranking;
    for (const size_t n : kSizes) {
      const std::vector<double> scores = some_scores(n, seed);
      const std::vector<int32_t> order = sorted_plainly(scores);
      CHECK(std::equal(order.begin(), order.end(), ranking.sort(scores.data(), n)));
    }
  }
}

CASE("a ranking of scores that are no numbers is still a permutation") {
  rankgrove::RankingOrder ranking;
  std::vector<double> scores = some_scores(100, 0);
  scores[3] = scores[50] = NAN;
  const int32_t* order = ranking.sort(scores.data(), 100);
  std::vector<int32_t> seen(order, order + 100);
  std::sort(seen.begin(), seen.end());
  for (int32_t i = 0; i < 100; ++i) CHECK(seen[size_t(i)] == i);
}

CASE("a partition keeps the order of both sides, with labels and without") {
  using rankgrove::forests::NodeSplit;
  using rankgrove::forests::StablePartition;
  for (int64_t n = 0; n < 200; n = n < 40 ? n + 1 : n + 13) {
    for (const bool labelled : {false, true}) {
      for (const bool missing_left : {false, true}) {
        Random random(uint64_t(n), missing_left);
        constexpr int32_t kMissing = 9;
        std::vector<uint8_t> codes(size_t(n) + 16), labels(size_t(n) + 16);
        std::vector<int32_t> rows(size_t(n) + 16);
        for (int64_t i = 0; i < n; ++i) {
          codes[size_t(i)] = uint8_t(random.below(kMissing + 1));
          labels[size_t(i)] = uint8_t(random.below(5));
          rows[size_t(i)] = int32_t(1000 + 3 * i);
        }
        NodeSplit split;
        split.bin = 4;
        split.missing_left = missing_left;
        std::vector<int32_t> expected;
        std::vector<uint8_t> expected_labels;
        int64_t n_left = 0;
        for (const bool left : {true, false}) {
          for (int64_t i = 0; i < n; ++i) {
            const int32_t code = codes[size_t(i)];
            const bool goes_left = code == kMissing ? missing_left : code <= split.bin;
            if (goes_left != left) continue;
            expected.push_back(rows[size_t(i)]);
            expected_labels.push_back(labels[size_t(i)]);
            n_left += left;
          }
        }
        StablePartition partition{size_t(n)};
        CHECK(n_left == partition.apply(codes.data(), split, kMissing, rows.data(),
                                        labelled ? labels.data() : nullptr, n));
        CHECK(std::equal(expected.begin(), expected.end(), rows.begin()));
        CHECK(!labelled ||
              std::equal(expected_labels.begin(), expected_labels.end(), labels.begin()));
      }
    }
  }
}

CASE("a point index counts points as looking at all of them does") {
  using rankgrove::forests::ChildScoreIndex;
  using rankgrove::forests::ScoreCounts;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const size_t n = 2 + random.below(80);
    const double middle = seed % 3 == 0 ? 0.0 : random.uniform();
    const auto draw = [&](bool above) {
      const double distance = std::exp(-20 * random.uniform());
      return above ? middle + distance : middle - distance;
    };
    std::vector<double> scores(n);
    for (double& score : scores) score = draw(random.below(2));
    for (size_t i = 4; i < n; i += 3) scores[i] = scores[i - 1];
    scores[0] = draw(true);
    scores[1] = draw(false);
    ChildScoreIndex index;
    std::vector<int32_t> point_of;
    index.build(scores, middle, point_of);
    std::vector<double> points = scores;
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    CHECK(index.size() == int32_t(points.size()));
    for (size_t i = 0; i < n; ++i) CHECK(index[point_of[i]] == scores[i]);
    for (const bool above : {false, true}) {
      std::vector<double> asked;
      for (const double score : scores) {
        if ((score > middle) == above) asked.push_back(score);
      }
      for (int i = 0; i < 50; ++i) asked.push_back(draw(above));
      std::vector<ScoreCounts> counts(asked.size());
      const auto m = int32_t(asked.size());
      if (above) {
        index.find_above(asked.data(), m, counts.data());
      } else {
        index.find_below(asked.data(), m, counts.data());
      }
      for (size_t i = 0; i < asked.size(); ++i) {
        const auto low = std::lower_bound(points.begin(), points.end(), asked[i]);
        const auto high = std::upper_bound(points.begin(), points.end(), asked[i]);
        CHECK(counts[i].below == low - points.begin());
        CHECK(counts[i].not_above == high - points.begin());
      }
    }
  }
}

namespace {

template <typename Code>
void check_ranks(uint64_t n_codes) {
  rankgrove::Random random(3);
  for (int64_t n = 0; n <= rankgrove::forests::kMostRanked; ++n) {
    const auto exact = std::make_unique<Code[]>(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      const auto code = std::numeric_limits<Code>::max() - random.below(n_codes);
      exact[i] = static_cast<Code>(code);
    }
    typename rankgrove::forests::RankOf<Code>::Type ranks[rankgrove::forests::kMostRanked];
    rankgrove::forests::rank_codes(exact.get(), n, ranks);
    for (int64_t i = 0; i < n; ++i) {
      int64_t before = 0;
      for (int64_t j = 0; j < n; ++j) {
        before += exact[j] < exact[i] || (exact[j] == exact[i] && j < i);
      }
      CHECK(ranks[i] == before);
    }
  }
}

}  // namespace

CASE("codes are ranked, equal ones in their order") {
  for (const uint64_t n_codes : {1, 3, 256}) check_ranks<uint8_t>(n_codes);
  for (const uint64_t n_codes : {1, 3, 65536}) check_ranks<uint16_t>(n_codes);
}
