#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "check.hpp"
#include "common/random.hpp"
#include "forests/criteria/feature_lanes.hpp"
#include "forests/criteria/packed_scores.hpp"
#include "forests/nodes/byte_codes.hpp"
#include "forests/pointwise/byte_sums.hpp"

namespace {

using namespace rankgrove::forests;
using rankgrove::Random;

constexpr int kSumBits = 36;

// Codes of which some part is the usual one, from no document to all.
std::vector<uint8_t> some_codes(int64_t n, uint8_t usual, Random& random) {
  const uint64_t part = random.below(5);
  const uint64_t n_codes = random.below(2) ? 256 : 4;
  std::vector<uint8_t> codes(size_t(n + kCodeSlack));
  for (uint8_t& code : codes) {
    code = random.below(4) < part ? usual : uint8_t(random.below(n_codes));
  }
  return codes;
}

struct Sums {
  uint64_t documents = 0;
  uint64_t targets = 0;
};

// What the documents up to each code sum up to.
std::map<uint32_t, Sums> running(const std::vector<uint8_t>& codes, const std::vector<Sums>& each) {
  std::map<uint32_t, Sums> result;
  for (const uint8_t code : codes) result[code] = {};
  for (auto& [code, sums] : result) {
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] > code) continue;
      sums.documents += each[i].documents;
      sums.targets += each[i].targets;
    }
  }
  return result;
}

std::vector<Sums> some_documents(int64_t n, Random& random) {
  std::vector<Sums> documents;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t times = 1 + random.below(3);
    documents.push_back({times, times * random.below(5)});
  }
  return documents;
}

double score(const Sums& left, const Sums& all) {
  const auto part = [](uint64_t sum, uint64_t n) { return double(sum) * double(sum) / double(n); };
  return part(left.targets, left.documents) +
         part(all.targets - left.targets, all.documents - left.documents);
}

}  // namespace

CASE("sums that leave the usual code out are those of all documents") {
  if (!ByteSums::available()) return;
  ByteSums sums;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const auto n = int64_t(17 + random.below(seed % 8 == 0 ? 3000 : 150));
    const auto usual = uint8_t(random.below(256));
    std::vector<uint8_t> codes = some_codes(n, usual, random);
    const std::vector<Sums> documents = some_documents(n, random);
    std::vector<uint64_t> items;
    uint64_t total = 0;
    for (const Sums& one : documents) {
      items.push_back(one.documents << kSumBits | one.targets);
      total += items.back();
    }
    std::vector<int32_t> present(256 + ByteSums::kPadding);
    std::vector<uint64_t> left(256);
    const int32_t n_present =
        sums.running(codes.data(), items.data(), n, usual, total, present.data(), left.data());
    codes.resize(size_t(n));
    const auto expected = running(codes, documents);
    CHECK(n_present == int32_t(expected.size()));
    int32_t k = 0;
    for (const auto& [code, up_to] : expected) {
      CHECK(present[k] == int32_t(code));
      CHECK(left[k++] == (up_to.documents << kSumBits | up_to.targets));
    }
  }
}

CASE("features in lanes have their own sums and gains") {
  FeatureLanes lanes;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto n = int64_t(seed < 128 ? seed + 1 : 1 + random.below(FeatureLanes::kMostRows));
    const std::vector<Sums> documents = some_documents(n, random);
    std::vector<uint8_t> items;
    Sums all;
    for (const Sums& one : documents) {
      items.push_back(FeatureLanes::item(uint32_t(one.documents), uint32_t(one.targets)));
      all = {all.documents + one.documents, all.targets + one.targets};
    }
    lanes.start(items.data(), n);
    std::vector<std::vector<uint8_t>> columns;
    for (int32_t lane = 0; lane < FeatureLanes::kLanes; ++lane) {
      columns.push_back(some_codes(n, uint8_t(lane), random));
      columns.back().resize(size_t(n));
      for (int64_t i = 0; i < n; ++i) {
        lanes.codes()[i * FeatureLanes::kLanes + lane] = columns.back()[size_t(i)];
      }
    }
    lanes.sort();
    float gains[FeatureLanes::kLanes];
    lanes.greatest_gains(gains);
    for (int32_t lane = 0; lane < FeatureLanes::kLanes; ++lane) {
      const auto expected = running(columns[size_t(lane)], documents);
      CHECK(lanes.constant(lane) == (expected.size() == 1));
      const double node_score = double(all.targets) * double(all.targets) / double(all.documents);
      double gain = 0;
      auto next = expected.begin();
      lanes.visit_sums(lane, [&](uint32_t code, uint64_t n_documents, uint64_t sum) {
        CHECK(next != expected.end() && next->first == code);
        CHECK(next->second.documents == n_documents && next->second.targets == sum);
        if (++next != expected.end()) {
          gain = std::max(gain, score({n_documents, sum}, all) - node_score);
        }
      });
      CHECK(next == expected.end());
      CHECK(std::abs(gains[lane] - gain) <= 1e-5 * gain + 1e-9);
    }
  }
}

CASE("no split that scores more is passed over") {
  int n_ruled_out = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    const auto n = int64_t(1 + random.below(40));
    const int bits = seed % 2 ? kSumBits : 56;
    const double step = seed % 3 ? 1.0 : std::exp2(double(random.below(2000)) - 1000);
    const uint64_t largest = uint64_t{1} << (seed % 5 ? 3 : bits - 12);
    std::vector<uint64_t> left;
    uint64_t sum = 0;
    for (int64_t i = 0; i <= n; ++i) {
      sum += uint64_t{1} << bits | random.below(largest);
      left.push_back(sum);
    }
    const uint64_t total = left.back();
    left.resize(size_t(padded_size(n)));
    std::vector<double> scores(left.size());
    const PackedFields fields{bits, step};
    const double greatest = squared_error_scores(fields, left.data(), n, total, 1, scores.data());
    const double factors[] = {0.5, 1 - 1e-6, 1 - 1e-15, 1 + 1e-6, 2};
    for (const double factor : factors) {
      const bool may = may_score_more(fields, left.data(), n, total, greatest * factor);
      if (greatest > greatest * factor) CHECK(may);
      n_ruled_out += !may;
    }
  }
  CHECK(n_ruled_out > 1000);  // it must be of use as well
}
