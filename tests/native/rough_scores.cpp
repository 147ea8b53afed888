#include "trees/rough_scores.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "common/random.hpp"
#include "trees/packed_gradients.hpp"

namespace {

using namespace rankgrove;

struct Looked {
  std::vector<int64_t> left;
  std::vector<float> score, of_block;
  float greatest;
};

Looked look(const std::vector<int64_t>& bins, int32_t n, int64_t missing, int64_t total,
            RoughUnits units) {
  const auto n_blocks = size_t(n_rough_blocks(n));
  Looked looked{std::vector<int64_t>(n_blocks * kRoughBlock),
                std::vector<float>(n_blocks * kRoughBlock), std::vector<float>(n_blocks), 0};
  looked.greatest = rough_scores(bins.data(), n, missing, total, units,
                                 {looked.left.data(), looked.score.data(), looked.of_block.data()});
  return looked;
}

}  // namespace

CASE("rough scores of the example") {
  const std::vector<int64_t> bins{packed_word({1, 1}), packed_word({2, 1}), packed_word({-3, 2})};
  const Looked looked = look(bins, 2, 0, packed_word({0, 4}), {1.0f, 0});
  CHECK(looked.score[0] == 0.75f);
  CHECK(looked.score[1] == 6.0f);
  CHECK(looked.greatest == 6.0f);
}

CASE("rough scores are near exact ones, for any number of splits") {
  Random random(5);
  for (int32_t n = 1; n < 100; ++n) {
    std::vector<int64_t> bins;
    const int64_t missing = n % 3 == 0 ? packed_word({-40, 70}) : 0;
    int64_t total = missing;
    for (int32_t b = 0; b <= n; ++b) {
      bins.push_back(packed_word({int64_t(random.below(2001)) - 1000, int64_t(random.below(300))}));
      total += bins.back();
    }
    Looked looked = look(bins, n, missing, total, {0.5f, 200});
    int64_t left = missing;
    float greatest = kNoRough;
    for (int32_t b = 0; b < n; ++b) {
      left += bins[size_t(b)];
      CHECK(looked.left[size_t(b)] == left);
      const auto [gl, hl] = unpacked(left);
      const auto [gr, hr] = unpacked(total - left);
      const float score = looked.score[size_t(b)];
      greatest = std::max(greatest, score);
      CHECK((score == kNoRough) == (hl < 200 || hr < 200));
      if (score == kNoRough) continue;
      const double exact =
          double(gl * gl) / (double(hl) + 0.5) + double(gr * gr) / (double(hr) + 0.5);
      CHECK(std::abs(score - exact) <= kRoughError * exact);
    }
    CHECK(looked.greatest == greatest);
    CHECK(*std::max_element(looked.of_block.begin(), looked.of_block.end()) == greatest);
    for (size_t b = size_t(n); b < looked.score.size(); ++b) CHECK(looked.score[b] == kNoRough);
    CHECK(greatest_rough_score(bins.data(), n, missing, total, {0.5f, 200},
                               {looked.left.data(), looked.score.data(), looked.of_block.data()}) ==
          greatest);
  }
}

CASE("splits after occupied bins are all that differ, and score as those of all bins") {
  if (!can_list_occupied()) return;
  Random random(6);
  for (int32_t n = 1; n < 200; ++n) {
    std::vector<int64_t> bins;
    const int64_t missing = n % 3 == 0 ? packed_word({-40, 70}) : 0;
    int64_t total = missing;
    for (int32_t b = 0; b <= n; ++b) {
      const bool empty = random.below(4) > 0;
      bins.push_back(empty ? 0 : packed_word({int64_t(random.below(2001)) - 1000, 100}));
      total += bins.back();
    }
    const RoughUnits units{0.5f, 200};
    const Looked all = look(bins, n, missing, total, units);
    std::vector<int32_t> bin(all.left.size());
    std::vector<int64_t> sums(all.left.size());
    const int32_t n_listed = list_occupied(bins.data(), n, bin.data(), sums.data());
    const Looked listed = look(sums, n_listed, missing, total, units);
    CHECK(listed.greatest == all.greatest);
    int32_t i = 0;
    for (int32_t b = 0; b < n; ++b) {
      if (b > 0 && bins[size_t(b)] == 0) continue;
      CHECK(bin[size_t(i)] == b);
      CHECK(listed.left[size_t(i)] == all.left[size_t(b)]);
      CHECK(listed.score[size_t(i)] == all.score[size_t(b)]);
      ++i;
    }
    CHECK(i == n_listed);
  }
}
