#include "linear/features.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/parallel.hpp"
#include "common/simd.hpp"

namespace rankgrove {
namespace {

constexpr double kNanosecondsPerValue = 1.0;
// Sums are added up per block of queries, then over blocks: the same for any n_threads.
constexpr int64_t kBlocks = 64;

RANKGROVE_INLINE double cleaned(float value, float fill) {
  constexpr float kLimit = std::numeric_limits<float>::max();
  const float filled = value == value ? value : fill;
  const float high = filled < kLimit ? filled : kLimit;
  return high > -kLimit ? high : -kLimit;
}

RANKGROVE_SIMD void clean_row(const float* x, const float* fill, int64_t n, double* out) {
  for (int64_t f = 0; f < n; ++f) out[f] = cleaned(x[f], fill[f]);
}

RANKGROVE_SIMD void normalise_row(const double* low, const double* scale, int64_t n, double* out) {
  for (int64_t f = 0; f < n; ++f) out[f] = (out[f] - low[f]) * scale[f];
}

RANKGROVE_SIMD void add_scaled(double factor, const double* row, int64_t n, double* sums) {
  for (int64_t f = 0; f < n; ++f) sums[f] += factor * row[f];
}

RANKGROVE_SIMD void add_squares(const double* mean, const double* row, int64_t n, double* sums) {
  for (int64_t f = 0; f < n; ++f) sums[f] += (row[f] - mean[f]) * (row[f] - mean[f]);
}

RANKGROVE_SIMD void widen_range(const double* row, int64_t n, double* low, double* high) {
  for (int64_t f = 0; f < n; ++f) {
    low[f] = row[f] < low[f] ? row[f] : low[f];
    high[f] = row[f] > high[f] ? row[f] : high[f];
  }
}

// Four rows side by side: each sum adds its features in order, and the sums do not wait for each
// other.
RANKGROVE_SIMD void dot_rows(const double* rows, const double* weights, int64_t n, double* out) {
  Lanes64 total = {};
  for (int64_t f = 0; f < n; ++f) {
    const Lanes64 values = {rows[f], rows[n + f], rows[2 * n + f], rows[3 * n + f]};
    total += weights[f] * values;
  }
  store(out, total);
}

}  // namespace

LinearFeatures::LinearFeatures(const FeatureView& x, std::vector<float> fill,
                               std::vector<int64_t> offsets, std::vector<int64_t> order,
                               Normalisation normalisation, bool keep_scales, int n_threads)
    : x_(x),
      fill_(std::move(fill)),
      offsets_(std::move(offsets)),
      order_(std::move(order)),
      normalisation_(normalisation) {
  if (normalisation_ == Normalisation::kNone || !keep_scales) return;
  const size_t size = static_cast<size_t>(n_queries()) * static_cast<size_t>(n_features());
  low_.resize(size);
  scale_.resize(size);
  const auto make_row = [&] { return std::vector<double>(n_features()); };
  parallel_for(n_queries(), n_threads, cost_of_query(), make_row,
               [&](int64_t query, std::vector<double>& row) {
                 const int64_t first = query * n_features();
                 find_scale(query, low_.data() + first, scale_.data() + first, row.data());
               });
}

double LinearFeatures::cost_of_query() const {
  return kNanosecondsPerValue * static_cast<double>(n_rows()) * static_cast<double>(n_features()) /
         static_cast<double>(std::max<int64_t>(n_queries(), 1));
}

double LinearFeatures::clean(int64_t position, int64_t feature) const {
  const int64_t at = row(position) * x_.row_stride + feature * x_.column_stride;
  const float value = x_.floats ? x_.floats[at] : static_cast<float>(x_.doubles[at]);
  return cleaned(value, fill_[feature]);
}

void LinearFeatures::load(int64_t position, const Scale& by, double* out) const {
  if (x_.floats && x_.column_stride == 1) {
    clean_row(x_.floats + row(position) * x_.row_stride, fill_.data(), n_features(), out);
  } else {
    for (int64_t f = 0; f < n_features(); ++f) out[f] = clean(position, f);
  }
  if (by.low) normalise_row(by.low, by.scale, n_features(), out);
}

void LinearFeatures::find_scale(int64_t query, double* low, double* scale, double* row) const {
  const int64_t n = n_features(), begin = offsets_[query], end = offsets_[query + 1];
  std::fill_n(low, n, 0.0);
  std::fill_n(scale, n, 0.0);
  if (begin == end) return;
  if (normalisation_ == Normalisation::kMinmax) {
    load(begin, {nullptr, nullptr}, low);
    std::copy_n(low, n, scale);  // the highest value, for now
    for (int64_t i = begin + 1; i < end; ++i) {
      load(i, {nullptr, nullptr}, row);
      widen_range(row, n, low, scale);
    }
    for (int64_t f = 0; f < n; ++f) scale[f] = scale[f] > low[f] ? 1.0 / (scale[f] - low[f]) : 0.0;
    return;
  }
  const auto size = static_cast<double>(end - begin);
  for (int64_t i = begin; i < end; ++i) {
    load(i, {nullptr, nullptr}, row);
    add_scaled(1.0, row, n, low);
  }
  for (int64_t f = 0; f < n; ++f) low[f] /= size;
  load(begin, {nullptr, nullptr}, row);
  std::vector<double> first(row, row + n);
  std::vector<char> varies(n, 0);
  for (int64_t i = begin; i < end; ++i) {
    load(i, {nullptr, nullptr}, row);
    add_squares(low, row, n, scale);
    for (int64_t f = 0; f < n; ++f) varies[f] |= row[f] != first[f];
  }
  for (int64_t f = 0; f < n; ++f) scale[f] = varies[f] ? 1.0 / std::sqrt(scale[f] / size) : 0.0;
}

LinearFeatures::Scale LinearFeatures::scale_of(int64_t query, std::vector<double>& scratch) const {
  if (normalisation_ == Normalisation::kNone) return {nullptr, nullptr};
  const int64_t n = n_features();
  if (!low_.empty()) return {low_.data() + query * n, scale_.data() + query * n};
  scratch.resize(3 * n);
  find_scale(query, scratch.data(), scratch.data() + n, scratch.data() + 2 * n);
  return {scratch.data(), scratch.data() + n};
}

void LinearFeatures::scores(const double* weights, int n_threads, double* out) const {
  struct Scratch {
    std::vector<double> rows, scale;
  };
  const int64_t n = n_features();
  const auto make_scratch = [&] { return Scratch{std::vector<double>(4 * n), {}}; };
  parallel_for(n_queries(), n_threads, cost_of_query(), make_scratch,
               [&](int64_t query, Scratch& s) {
                 const Scale by = scale_of(query, s.scale);
                 for (int64_t i = offsets_[query]; i < offsets_[query + 1]; i += kLanes64) {
                   const int64_t count = std::min<int64_t>(kLanes64, offsets_[query + 1] - i);
                   double sums[kLanes64];
                   for (int64_t v = 0; v < count; ++v) load(i + v, by, s.rows.data() + v * n);
                   dot_rows(s.rows.data(), weights, n, sums);
                   std::copy_n(sums, count, out + i);
                 }
               });
}

// Adds up what add(query, row, sums) adds for each query of a block, over all blocks in order.
template <typename Add>
std::vector<double> LinearFeatures::sum_blocks(int n_threads, Add&& add) const {
  const int64_t n = n_features();
  std::vector<double> blocks(kBlocks * n);
  const double cost = cost_of_query() * static_cast<double>(n_queries()) / kBlocks;
  parallel_for(kBlocks, n_threads, cost, [&](int64_t block) {
    std::vector<double> row(n);
    for (int64_t q = n_queries() * block / kBlocks; q < n_queries() * (block + 1) / kBlocks; ++q) {
      add(q, row.data(), blocks.data() + block * n);
    }
  });
  std::vector<double> total(n);
  for (int64_t block = 0; block < kBlocks; ++block) {
    for (int64_t f = 0; f < n; ++f) total[f] += blocks[block * n + f];
  }
  return total;
}

std::vector<double> LinearFeatures::sums(const double* factors, int n_threads) const {
  return sum_blocks(n_threads, [&](int64_t query, double* row, double* sums) {
    std::vector<double> unused;
    const Scale by = scale_of(query, unused);
    for (int64_t i = offsets_[query]; i < offsets_[query + 1]; ++i) {
      if (factors[i] == 0.0) continue;
      load(i, by, row);
      add_scaled(factors[i], row, n_features(), sums);
    }
  });
}

std::vector<double> LinearFeatures::spreads(int n_threads) const {
  const int64_t n = n_features();
  std::vector<double> spreads =
      sum_blocks(n_threads, [&](int64_t query, double* row, double* sums) {
        std::vector<double> mean(n), squares(n), unused;
        const Scale by = scale_of(query, unused);
        const int64_t begin = offsets_[query], end = offsets_[query + 1];
        std::vector<double> low(n, std::numeric_limits<double>::infinity()), high(n);
        std::fill(high.begin(), high.end(), -std::numeric_limits<double>::infinity());
        for (int64_t i = begin; i < end; ++i) {
          load(i, by, row);
          add_scaled(1.0, row, n, mean.data());
          widen_range(row, n, low.data(), high.data());
        }
        for (double& value : mean) value /= static_cast<double>(std::max<int64_t>(end - begin, 1));
        for (int64_t i = begin; i < end; ++i) {
          load(i, by, row);
          add_squares(mean.data(), row, n, squares.data());
        }
        for (int64_t f = 0; f < n; ++f) sums[f] += high[f] > low[f] ? squares[f] : 0.0;
      });
  const auto count = static_cast<double>(std::max<int64_t>(n_rows(), 1));
  for (double& value : spreads) value = std::sqrt(value / count);
  return spreads;
}

void LinearFeatures::column(int64_t feature, int n_threads, double* out) const {
  const double cost = cost_of_query() / static_cast<double>(std::max<int64_t>(n_features(), 1));
  parallel_for(n_queries(), n_threads, 5.0 * cost, [&](int64_t query) {
    std::vector<double> unused;
    const Scale by = scale_of(query, unused);
    for (int64_t i = offsets_[query]; i < offsets_[query + 1]; ++i) {
      const double value = clean(i, feature);
      out[i] = by.low ? (value - by.low[feature]) * by.scale[feature] : value;
    }
  });
}

}  // namespace rankgrove
