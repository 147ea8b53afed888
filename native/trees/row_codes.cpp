#include "trees/row_codes.hpp"

#include <algorithm>

namespace rankgrove {
namespace {

constexpr int64_t kMostCells = int64_t{1} << 23;

// Adds up kN features that begin at `features`.
template <int kN>
void add_features(const int32_t* features, const uint8_t* codes, int64_t width,
                  const int64_t* words, std::span<const int32_t> rows, int64_t* bins) {
  for (const int32_t row : rows) {
    const uint8_t* code = codes + row * width;
    const int64_t word = words[row];
    for (int j = 0; j < kN; ++j) bins[j * RowCodes::kWords + code[features[j]]] += word;
  }
}

}  // namespace

RowCodes::RowCodes(const BinnedMatrix& binned, const HistogramLayout& layout)
    : width_(binned.n_features()) {
  if (binned.wide || binned.mapped() || binned.has_sparse()) return;
  if (binned.n_rows * width_ > kMostCells) return;
  for (int32_t f = 0; f < width_; ++f) {
    const uint8_t* column = binned.column<uint8_t>(f);
    const int32_t n_bins = layout.n_bins[f] + layout.missing[f];
    if (std::any_of(column, column + binned.n_rows, [&](uint8_t c) { return c >= n_bins; })) return;
  }
  codes_.resize(static_cast<size_t>(binned.n_rows * width_));
  for (int32_t f = 0; f < width_; ++f) {
    const uint8_t* column = binned.column<uint8_t>(f);
    for (int64_t row = 0; row < binned.n_rows; ++row) codes_[row * width_ + f] = column[row];
  }
}

void RowCodes::add_up(std::span<const int32_t> features, const int64_t* words,
                      std::span<const int32_t> rows, int64_t* bins) const {
  if (features.size() == kAtOnce) {
    add_features<kAtOnce>(features.data(), codes_.data(), width_, words, rows, bins);
    return;
  }
  for (const int32_t& f : features) {
    add_features<1>(&f, codes_.data(), width_, words, rows, bins);
    bins += kWords;
  }
}

}  // namespace rankgrove
