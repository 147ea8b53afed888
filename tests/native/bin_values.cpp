#include "forests/data/bin_values.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "common/random.hpp"

namespace {

using namespace rankgrove;

// Features with these numbers of bins, whose cuts are drawn.
Bins drawn_bins(const std::vector<int32_t>& n_bins, Random& random) {
  Bins bins;
  bins.offsets = {0};
  for (const int32_t n : n_bins) {
    std::vector<float> cuts;
    float cut = -3.0f;
    for (int32_t i = 1; i < n; ++i)
      cuts.push_back(cut += 0.01f + static_cast<float>(random.uniform()));
    bins.cuts.insert(bins.cuts.end(), cuts.begin(), cuts.end());
    bins.offsets.push_back(static_cast<int64_t>(bins.cuts.size()));
  }
  return bins;
}

int32_t last_one_by_one(const float* values, int32_t low, int32_t high, double point) {
  int32_t last = low;
  for (int32_t b = low; b < high; ++b) {
    if (values[b] <= point) last = b;
  }
  return last;
}

}  // namespace

CASE("the bin below a point is found in groups of values") {
  Random random(7);
  for (const int32_t most : {255, 256, 1000}) {  // the last has no groups
    const std::vector<int32_t> n_bins{most, 2, 15, 16, 17, 31, 32, 33, 255};
    const Bins bins = drawn_bins(n_bins, random);
    const std::vector<float> least(n_bins.size(), -4.0f);
    const std::vector<float> greatest(n_bins.size(), 2000.0f);
    const forests::BinValues values(bins, least.data(), greatest.data());
    for (int32_t f = 0; f < bins.n_features(); ++f) {
      const float* of = values.of(f);
      for (int i = 0; i < 2000; ++i) {
        const auto low = static_cast<int32_t>(random.below(n_bins[f] - 1));
        const auto high = low + 1 + static_cast<int32_t>(random.below(n_bins[f] - 1 - low));
        const double at = of[low] + random.uniform() * (static_cast<double>(of[high]) - of[low]);
        // Points between two floats, on a value, and just below and above one.
        for (const double point : {at, static_cast<double>(of[low]), std::nextafter(of[high], -9.0),
                                   std::nextafter(double{of[low]}, 9.0)}) {
          CHECK(values.last_at_most(f, low, high, point) == last_one_by_one(of, low, high, point));
        }
      }
      CHECK(values.last_at_most(f, 0, n_bins[f] - 1, std::nan("")) == 0);
    }
  }
}

CASE("values inside bins ascend where cuts are far apart") {
  Bins bins;
  bins.cuts = {-3e38f, 3e38f};
  bins.offsets = {0, 2};
  const float least = -std::numeric_limits<float>::infinity();
  const float greatest = 3.2e38f;
  const forests::BinValues values(bins, &least, &greatest);
  CHECK(values.of(0)[0] == least);
  CHECK(values.of(0)[1] == 0.0f);
  CHECK(values.of(0)[2] == greatest);
}
