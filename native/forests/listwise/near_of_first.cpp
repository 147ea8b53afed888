#include "forests/listwise/near_of_first.hpp"

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

// The lines of the documents of one child, at each k.
struct Lines {
  const double* above_per_gain;
  const double* above_fixed;
  const double* below_per_gain;
};

// n is a multiple of kLanes64.
RANKGROVE_SIMD void respond(const Lines left, const Lines right, const double* gain, double all,
                            int64_t n, double* left_above, double* left_below) {
  for (int64_t k = 0; k < n; k += kLanes64) {
    Lanes64 g, per_gain, fixed, above, below;
    load(g, gain + k);
    load(per_gain, left.above_per_gain + k);
    load(fixed, left.above_fixed + k);
    above = g * per_gain + fixed;
    load(per_gain, left.below_per_gain + k);
    below = g * per_gain;
    g = all - g;
    load(per_gain, right.below_per_gain + k);
    above += g * per_gain;
    load(per_gain, right.above_per_gain + k);
    load(fixed, right.above_fixed + k);
    below += g * per_gain + fixed;
    store(left_above + k, above);
    store(left_below + k, below);
  }
}

int64_t padded(int64_t n) { return (n + kLanes64 - 1) / kLanes64 * kLanes64; }

}  // namespace

void NearOfFirst::start(const NearLines& lines, const Subset& all) {
  all_ = all;
  const int32_t m = all.count;
  const auto size = static_cast<size_t>(padded(m + 1));
  const double* columns[kColumns] = {lines.above_per_gain.data(), lines.above_fixed.data(),
                                     lines.below_per_gain.data()};
  if (gain_.size() < size) {
    for (auto& column : left_) column.resize(size);
    for (auto& column : right_) column.resize(size);
    gain_.resize(size);
    left_above_.resize(size);
    left_below_.resize(size);
  }
  for (int32_t c = 0; c < kColumns; ++c) {
    left_[c][0] = right_[c][m] = 0.0;
    for (int32_t k = 1; k <= m; ++k) left_[c][k] = right_[c][m - k] = columns[c][k];
  }
}

void NearOfFirst::find(const DocumentMoves& moves, const double* document_gain) {
  const int32_t m = all_.count;
  double gain = gain_[0] = 0.0;
  for (int32_t k = 0; k < m; ++k) gain_[k + 1] = gain += document_gain[moves[k].document];
  respond({left_[kAbovePerGain].data(), left_[kAboveFixed].data(), left_[kBelowPerGain].data()},
          {right_[kAbovePerGain].data(), right_[kAboveFixed].data(), right_[kBelowPerGain].data()},
          gain_.data(), all_.gain, padded(m + 1), left_above_.data(), left_below_.data());
}

}  // namespace rankgrove::forests
