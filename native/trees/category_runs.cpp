#include "trees/category_runs.hpp"

#include <algorithm>
#include <cmath>

namespace rankgrove {
namespace {

struct Ratio {
  double value;
  int32_t code;

  bool operator<(const Ratio& other) const {
    return value != other.value ? value < other.value : code < other.code;
  }
};

// The first codes of an order.
template <typename Before>
std::vector<int32_t> first_codes(std::vector<Ratio>& ratios, int32_t n, const Before& before) {
  const auto middle = ratios.begin() + std::min<int64_t>(n, std::ssize(ratios));
  std::partial_sort(ratios.begin(), middle, ratios.end(), before);
  std::vector<int32_t> codes;
  for (auto ratio = ratios.begin(); ratio != middle; ++ratio) codes.push_back(ratio->code);
  return codes;
}

}  // namespace

CategoryRuns category_runs(std::span<const int64_t> sums, const int64_t* row_counts, int64_t total,
                           int64_t n_rows, const GradientUnits& packed,
                           const CategoryRules& rules) {
  const double rows_per_hessian =
      packed.counts_rows ? 1.0
                         : static_cast<double>(n_rows) / std::max(1.0, hessian_field(total) * 1.0);
  const double hessian_of_row = packed.hessian_unit / rows_per_hessian;
  thread_local std::vector<Ratio> ratios;
  ratios.clear();
  int32_t n_present = 0;
  for (int32_t code = 0; code < std::ssize(sums); ++code) {
    if (sums[code] == 0) continue;
    ++n_present;
    const double hessian = hessian_field(sums[code]);
    const double rows = row_counts ? static_cast<double>(row_counts[code])
                                   : std::max(1.0, hessian * rows_per_hessian);
    if (rows < static_cast<double>(rules.min_samples)) continue;
    const double gradient = gradient_field(sums[code]) * packed.gradient_unit;
    const double weight = hessian * packed.hessian_unit + rules.smoothing * hessian_of_row;
    ratios.push_back({weight > 0.0 ? gradient / weight : 0.0, code});
  }
  CategoryRuns runs;
  if (n_present <= rules.max_onehot) {
    for (const Ratio& ratio : ratios) runs.lists.push_back({ratio.code});
    return runs;
  }
  runs.l2 = rules.l2 * hessian_of_row;
  if (rules.penalty > 0.0 && packed.gain_by_chance > 0.0) {
    const auto n = static_cast<double>(ratios.size());
    const auto n_listed = std::min<int64_t>(rules.max_listed, std::ssize(ratios));
    for (int64_t m = 1; m <= n_listed; ++m) {
      const auto listed = static_cast<double>(m);
      runs.penalties.push_back(rules.penalty * packed.gain_by_chance * listed *
                               (1.0 + 2.0 * std::log(n / listed)));
    }
  }
  runs.lists.push_back(first_codes(ratios, rules.max_listed, std::less<Ratio>()));
  runs.lists.push_back(first_codes(ratios, rules.max_listed, [](const Ratio& a, const Ratio& b) {
    return a.value != b.value ? a.value > b.value : a.code < b.code;
  }));
  return runs;
}

}  // namespace rankgrove
