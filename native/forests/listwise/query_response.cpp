#include "forests/listwise/query_response.hpp"

#include <algorithm>

#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

struct NearInput {
  const double* own_begin;  // the sum of discounts before the own block, and so on
  const double* own_end;
  const double* tied_end;
  double scale;
  double tied_mean;
};

RANKGROVE_SIMD void list_near(const NearInput in, int32_t m, double* __restrict share_of_one,
                              double* __restrict above_per_gain, double* __restrict above_fixed,
                              double* __restrict below_per_gain) {
  const double tied_share = in.tied_end[0] - in.own_begin[0];
  for (int32_t c = 1; c <= m; ++c) {
    share_of_one[c] = in.scale / c;
    above_per_gain[c] = share_of_one[c] * (in.own_begin[c] - in.own_begin[0]);
    above_fixed[c] = in.scale * in.tied_mean * ((in.tied_end[c] - in.own_begin[c]) - tied_share);
    below_per_gain[c] = share_of_one[c] * (in.own_end[0] - in.own_end[-c]);
  }
}

// The far responses of 1 .. m documents at the blocks before the own one. Those of a block are
// computed from those of the next one; the iterations over numbers of documents are independent.
RANKGROVE_SIMD void list_above(const Block* blocks, int32_t own, const double* discounts,
                               double scale, int32_t m, const double* __restrict share_of_one,
                               const double* __restrict near, int64_t stride,
                               double* __restrict per_gain, double* __restrict fixed) {
  for (int32_t i = own - 1; i >= 0; --i) {
    const double* begin = discounts + blocks[i].start;
    const double* end = discounts + blocks[i].end();
    const double mean = blocks[i].gain_mean;
    const double share = end[0] - begin[0];
    double* row = per_gain + i * stride;
    double* fixed_row = fixed + i * stride;
    for (int32_t c = 1; c <= m; ++c) {
      row[c] = share_of_one[c] * (begin[c] - begin[0]) - near[c];
      fixed_row[c] = fixed_row[c + stride] + scale * (mean * ((end[c] - begin[c]) - share));
    }
  }
}

// The same at the blocks behind the own one.
RANKGROVE_SIMD void list_below(const Block* blocks, int32_t n_blocks, int32_t own,
                               const double* discounts, double scale, int32_t m,
                               const double* __restrict share_of_one, const double* __restrict near,
                               int64_t stride, double* __restrict per_gain,
                               double* __restrict fixed) {
  for (int32_t i = own + 1; i < n_blocks; ++i) {
    const double* begin = discounts + blocks[i].start;
    const double* end = discounts + blocks[i].end();
    const double mean = blocks[i].gain_mean;
    const double share = end[0] - begin[0];
    double* row = per_gain + i * stride;
    double* fixed_row = fixed + i * stride;
    for (int32_t c = 1; c <= m; ++c) {
      row[c] = share_of_one[c] * (end[0] - end[-c]) - near[c];
      fixed_row[c] = fixed_row[c - stride] + scale * (mean * ((end[-c] - begin[-c]) - share));
    }
  }
}

}  // namespace

void QueryResponse::respond_near(int32_t m, NearLines& near) const {
  near.resize(m);
  const double* begin = discounts_ + own().start;
  list_near({begin, discounts_ + own().end(), begin + n_tied(), scale_, tied_mean()}, m,
            near.share_of_one.data(), near.above_per_gain.data(), near.above_fixed.data(),
            near.below_per_gain.data());
}

void QueryResponse::respond(int32_t m, const NearLines& near, FarLines& far) const {
  far.resize(positions_.size(), m);
  const int64_t stride = far.stride;
  double* const per_gain = far.per_gain.data();
  double* const fixed = far.fixed.data();
  std::fill_n(per_gain + own_ * stride, stride, 0.0);
  std::fill_n(fixed + own_ * stride, stride, 0.0);
  list_above(blocks_.block, own_, discounts_, scale_, m, near.share_of_one.data(),
             near.above_per_gain.data(), stride, per_gain, fixed);
  list_below(blocks_.block, blocks_.size, own_, discounts_, scale_, m, near.share_of_one.data(),
             near.below_per_gain.data(), stride, per_gain, fixed);
  for (int32_t t = 0; t < positions_.n_ties(); ++t) {
    const int32_t i = positions_.ties()[t];
    const bool above = i < own_;
    const double* passed = fixed + (above ? i + 1 : i - 1) * stride;
    const int64_t row = (blocks_.size + t) * stride;
    for (int32_t c = 1; c <= m; ++c) {
      const double near_of_c = above ? near.above_per_gain[c] : near.below_per_gain[c];
      const Line line = tied(i, c, near_of_c, passed[c]);
      per_gain[row + c] = line.per_gain;
      fixed[row + c] = line.fixed;
    }
  }
}

}  // namespace rankgrove::forests
