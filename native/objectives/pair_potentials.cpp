#include "objectives/pair_potentials.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerDocument = 15.0;
// A score this far from the middle of its query counts as this far, so that no product overflows.
constexpr double kFarthest = 300.0;

}  // namespace

PairPotentials::PairPotentials(const Queries& queries, const double* labels, const double* factors)
    : offsets_(queries.offsets, queries.offsets + queries.count + 1),
      order_(offsets_.back()),
      rises_(offsets_.back()) {
  if (factors) factors_.assign(factors, factors + offsets_.back());
  for (int64_t q = 0; q < queries.count; ++q) {
    const double* own = labels + offsets_[q];
    int32_t* order = order_.data() + offsets_[q];
    std::iota(order, order + queries.size(q), 0);
    std::stable_sort(order, order + queries.size(q),
                     [&](int32_t a, int32_t b) { return own[a] < own[b]; });
    for (int64_t i = 1; i < queries.size(q); ++i) {
      rises_[offsets_[q] + i] = own[order[i]] > own[order[i - 1]];
    }
  }
}

std::vector<double> PairPotentials::compute(const double* scores, int n_threads,
                                            double* potentials) const {
  struct Scratch {
    std::vector<double> as_lower, as_higher;
  };
  const Queries queries{offsets_.data(), static_cast<int64_t>(offsets_.size()) - 1};
  const auto longest = static_cast<size_t>(queries.longest());
  std::vector<double> totals(queries.count);
  const auto make_scratch = [&] {
    return Scratch{std::vector<double>(longest), std::vector<double>(longest)};
  };
  for_each_query(
      queries, n_threads, kNanosecondsPerDocument, make_scratch, [&](int64_t q, Scratch& s) {
        const int64_t begin = offsets_[q], n = queries.size(q);
        if (n == 0) return;
        const auto [lowest, highest] = std::minmax_element(scores + begin, scores + begin + n);
        const double middle = *lowest + 0.5 * (*highest - *lowest);
        for (int64_t d = 0; d < n; ++d) {
          s.as_lower[d] = std::clamp(scores[begin + d] - middle, -kFarthest, kFarthest);
        }
        exp_array(s.as_lower.data(), 0.0, -1.0, static_cast<size_t>(n), s.as_higher.data());
        exp_array(s.as_lower.data(), 0.0, 1.0, static_cast<size_t>(n), s.as_lower.data());
        for (int64_t d = 0; !factors_.empty() && d < n; ++d) {
          s.as_lower[d] *= factors_[begin + d];
          s.as_higher[d] *= factors_[begin + d];
        }
        const int32_t* order = order_.data() + begin;
        double* out = potentials + begin;
        double below = 0.0, same = 0.0, total = 0.0;  // `same` has the label of the documents
        for (int64_t i = 0; i < n; ++i) {
          if (rises_[begin + i]) below += std::exchange(same, 0.0);
          same += s.as_lower[order[i]];
          out[order[i]] = s.as_higher[order[i]] * below;
          total += out[order[i]];
        }
        double above = 0.0;
        same = 0.0;
        for (int64_t i = n; i-- > 0;) {
          same += s.as_higher[order[i]];
          out[order[i]] -= s.as_lower[order[i]] * above;
          if (rises_[begin + i]) above += std::exchange(same, 0.0);
        }
        totals[q] = total;
      });
  return totals;
}

}  // namespace rankgrove
