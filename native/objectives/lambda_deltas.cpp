#include "objectives/lambda_deltas.hpp"

#include <algorithm>

#include "common/simd.hpp"
#include "metrics/ranking.hpp"

namespace rankgrove {
namespace {

RANKGROVE_SIMD void ndcg_row(const float* value, const float* discount, size_t i, size_t n,
                             float* delta) {
  const float value_i = value[i];
  const float discount_i = discount[i];
  for (size_t j = i + 1; j < n; ++j) {
    delta[j] = (value_i - value[j]) * (discount_i - discount[j]);
  }
}

// delta = scale * (value_i - value_j)
RANKGROVE_SIMD void difference_row(const float* value, float value_i, float scale, size_t begin,
                                   size_t n, float* delta) {
  for (size_t j = begin; j < n; ++j) delta[j] = scale * (value_i - value[j]);
}

// delta = scale * (value_i - value_j) * (at_i - precision_j + reciprocal_j)
RANKGROVE_SIMD void precision_row(const float* value, const double* precision,
                                  const double* reciprocal, double at_i, double scale, size_t i,
                                  size_t n, float* delta) {
  const float value_i = value[i];
  for (size_t j = i + 1; j < n; ++j) {
    const double change = scale * (at_i - precision[j] + reciprocal[j]);
    delta[j] = (value_i - value[j]) * static_cast<float>(change);
  }
}

// delta = (value_i - value_j) (rank_part (discount_i - discount_j) + mu gap_{j - i})
RANKGROVE_SIMD void distance_row(const float* value, const float* discount, const float* gap,
                                 float rank_part, float mu, size_t i, size_t n, float* delta) {
  const float value_i = value[i];
  const float discount_i = discount[i];
  for (size_t j = i + 1; j < n; ++j) {
    delta[j] = (value_i - value[j]) * (rank_part * (discount_i - discount[j]) + mu * gap[j - i]);
  }
}

// 1 / log2(1 + rank) of the first n ranks.
std::vector<float> discounts(size_t n) {
  const std::vector<double> table = discount_table(DiscountRule{}, static_cast<int64_t>(n));
  std::vector<float> result(n);
  std::transform(table.begin(), table.end(), result.begin(),
                 [](double discount) { return static_cast<float>(discount); });
  return result;
}

}  // namespace

NdcgDelta::NdcgDelta(size_t k, size_t longest) : discount_(discounts(std::min(longest, k))), k_(k) {
  discount_.resize(longest);
}

size_t NdcgDelta::last_rank() const { return std::min(n_, k_); }

void NdcgDelta::fill(size_t i, size_t end, float* delta) const {
  ndcg_row(value_, discount_.data(), i, end, delta);
}

AveragePrecisionDelta::AveragePrecisionDelta(size_t, size_t longest)
    : precision_(longest), reciprocal_(longest + 1) {}

void AveragePrecisionDelta::start(const float* value, size_t n) {
  value_ = value;
  n_ = n;
  n_relevant_ = 0;
  double sum = 0;
  for (size_t r = 0; r < n; ++r) {
    const double rank = static_cast<double>(r) + 1.0;
    reciprocal_[r] = sum;
    n_relevant_ += value[r];
    sum += value[r] / rank;
    precision_[r] = n_relevant_ / rank;
  }
  reciprocal_[n] = sum;
}

// A relevant document at i swapped with an irrelevant one at j loses its precision at i, gains the
// precision at j, and lowers the count at each relevant rank m between them by one (1 / m each).
// The other way round the counts rise, and the precision gained at i counts the document itself.
void AveragePrecisionDelta::fill(size_t i, size_t end, float* delta) const {
  const double own = value_[i] > 0 ? 0.0 : 1.0 / (static_cast<double>(i) + 1.0);
  const double at_i = precision_[i] + own - reciprocal_[i + 1];
  precision_row(value_, precision_.data(), reciprocal_.data(), at_i, 1.0 / n_relevant_, i, end,
                delta);
}

ExpectedReciprocalRankDelta::ExpectedReciprocalRankDelta(size_t k, size_t longest)
    : k_(k), reached_(longest) {}

void ExpectedReciprocalRankDelta::start(const float* value, size_t n) {
  value_ = value;
  n_ = n;
  double reached = 1.0;
  for (size_t r = 0; r < n; ++r) {
    reached_[r] = reached;
    reached *= 1.0 - value[r];
  }
}

size_t ExpectedReciprocalRankDelta::last_rank() const { return std::min(n_, k_); }

// With R the probabilities, A the probability of reaching rank i, B the expected reciprocal rank
// and Q the probability of passing between i and j (both given that i was passed),
//   ERR(now) - ERR(swapped) = A (R_i - R_j) (1 / i - B - Q / j),
// since what follows j is reached with the same probability either way. Ranks beyond the cut-off
// count 0, so B stays as it is from there on.
void ExpectedReciprocalRankDelta::fill(size_t i, size_t end, float* delta) const {
  const double at_i = 1.0 / (static_cast<double>(i) + 1.0);
  const size_t counted = std::min(end, k_);
  double between = 0.0;
  double passing = 1.0;
  for (size_t j = i + 1; j < counted; ++j) {
    const double reciprocal = 1.0 / (static_cast<double>(j) + 1.0);
    const double change = reached_[i] * (at_i - between - passing * reciprocal);
    delta[j] = static_cast<float>(change) * (value_[i] - value_[j]);
    between += passing * value_[j] * reciprocal;
    passing *= 1.0 - value_[j];
  }
  const auto beyond = static_cast<float>(reached_[i] * (at_i - between));
  difference_row(value_, value_[i], beyond, std::max(counted, i + 1), end, delta);
}

ReciprocalRankDelta::ReciprocalRankDelta(size_t k, size_t) : k_(k) {}

void ReciprocalRankDelta::start(const float* value, size_t n) {
  value_ = value;
  n_ = n;
  const auto next_relevant = [&](size_t from) {
    return static_cast<size_t>(
        std::find_if(value + std::min(from, n), value + n, [](float v) { return v > 0; }) - value);
  };
  first_ = next_relevant(0);
  second_ = next_relevant(first_ + 1);
}

size_t ReciprocalRankDelta::last_rank() const {
  return std::min({n_, k_, first_ == n_ ? size_t{0} : first_ + 1});
}

// Only two kinds of swap move the first relevant rank: it goes down itself, as far as the second
// relevant document allows, or a relevant document from anywhere below comes above it.
void ReciprocalRankDelta::fill(size_t i, size_t end, float* delta) const {
  if (i == first_) {
    for (size_t j = i + 1; j < end; ++j) {
      delta[j] = (1.0f - value_[j]) * (reciprocal(i) - reciprocal(std::min(j, second_)));
    }
  } else if (i < first_) {
    difference_row(value_, 0.0f, reciprocal(i) - reciprocal(first_), i + 1, end, delta);
  } else {
    std::fill(delta + i + 1, delta + end, 0.0f);
  }
}

RankDistanceDelta::RankDistanceDelta(float rank_part, float mu, size_t longest)
    : rank_part_(rank_part), mu_(mu), discount_(discounts(longest + 1)), gap_(longest + 1) {
  for (size_t m = 1; m <= longest; ++m) gap_[m] = discount_[m - 1] - discount_[m];
}

void RankDistanceDelta::fill(size_t i, size_t end, float* delta) const {
  distance_row(value_, discount_.data(), gap_.data(), rank_part_, mu_, i, end, delta);
}

void LabelDifferenceDelta::fill(size_t i, size_t end, float* delta) const {
  difference_row(value_, value_[i], 1.0f, i + 1, end, delta);
}

OwnWeightDelta::OwnWeightDelta(bool discounted, size_t longest)
    : discount_(discounted ? discounts(longest) : std::vector<float>(longest, 1.0f)),
      weight_(longest) {}

void OwnWeightDelta::start(const float* value, size_t n) {
  n_ = n;
  for (size_t r = 0; r < n; ++r) weight_[r] = value[r] * discount_[r];
}

void OwnWeightDelta::fill(size_t i, size_t end, float* delta) const {
  std::fill(delta + i + 1, delta + end, weight_[i]);
}

void OwnWeightDelta::fill_reverse(size_t i, size_t end, float* delta) const {
  for (size_t j = i + 1; j < end; ++j) delta[j] = -weight_[j];
}

}  // namespace rankgrove
