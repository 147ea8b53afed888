#include <algorithm>
#include <cmath>

#include "common/parallel.hpp"
#include "common/table_memory.hpp"
#include "trees/binned_matrix.hpp"
#include "trees/feature_bins.hpp"

namespace rankgrove {
namespace {

// Features are read 16 at a time: one cache line of a row-major float32 matrix.
constexpr int32_t kFeatureBlock = 16;
constexpr double kNanosecondsPerCode = 3.0;
constexpr double kNanosecondsPerSort = 8.0;  // of a value

template <typename Code>
void code_block(const MatrixView& x, const Bins& bins, const int64_t* rows, int64_t begin,
                int64_t end, int32_t first_feature, int32_t last_feature,
                const std::vector<CutSearch>& searches, int64_t n_rows, Code* codes) {
  constexpr int64_t kRowTile = 256;
  float values[kRowTile];
  for (int64_t tile = begin; tile < end; tile += kRowTile) {
    const int64_t tile_end = std::min(end, tile + kRowTile);
    for (int32_t f = first_feature; f < last_feature; ++f) {
      const float* source = x.data + f * x.column_stride;
      for (int64_t i = tile; i < tile_end; ++i) {
        values[i - tile] = source[(rows ? rows[i] : i) * x.row_stride];
      }
      const float fill = bins.fill[f];
      const Code missing = static_cast<Code>(bins.n_bins(f));
      const CutSearch& search = searches[f];
      Code* target = codes + static_cast<int64_t>(f) * n_rows + tile;
      for (int64_t i = 0; i < tile_end - tile; ++i) {
        const float value = std::isnan(values[i]) ? fill : values[i];
        const auto code = static_cast<Code>(search.code(value));
        target[i] = std::isnan(value) ? missing : code;
      }
    }
  }
}

}  // namespace

std::shared_ptr<const Bins> find_bins(const MatrixView& x, int32_t max_bins,
                                      const std::vector<float>& fill, int n_threads) {
  std::vector<FeatureBins> found(x.n_features);
  const int32_t n_blocks = (x.n_features + kFeatureBlock - 1) / kFeatureBlock;
  for (int32_t block = 0; block < n_blocks; ++block) {
    const int32_t first = block * kFeatureBlock;
    const int32_t width = std::min(kFeatureBlock, x.n_features - first);
    std::vector<std::vector<uint32_t>> keys(width);
    for (auto& column : keys) column.resize(x.n_rows);
    constexpr int64_t kTile = 256;
    parallel_for((x.n_rows + kTile - 1) / kTile, n_threads, kNanosecondsPerCode * kTile * width,
                 [&](int64_t tile) {
                   const int64_t begin = tile * kTile;
                   const int64_t end = std::min(x.n_rows, begin + kTile);
                   for (int32_t j = 0; j < width; ++j) {
                     const float* source = x.data + (first + j) * x.column_stride;
                     const float stand_in = fill[first + j];
                     uint32_t* target = keys[j].data();
                     for (int64_t i = begin; i < end; ++i) {
                       const float raw = source[i * x.row_stride];
                       const float value = std::isnan(raw) ? stand_in : raw;
                       const uint32_t key = sort_key(value);
                       target[i] = std::isnan(value) ? kMissingKey : key;
                     }
                   }
                 });
    parallel_for(width, n_threads, kNanosecondsPerSort * x.n_rows, [&](int64_t j) {
      found[first + j] = find_feature_bins(keys[j], {}, max_bins);
      std::vector<uint32_t>().swap(keys[j]);
    });
  }
  return join_bins(found, fill);
}

bool needs_wide_codes(const Bins& bins) {
  for (int32_t f = 0; f < bins.n_features(); ++f) {
    if (bins.n_bins(f) > kMaxBins8) return true;
  }
  return false;
}

void BinnedMatrix::release(int64_t begin, int64_t end) const {
  if (!mapped()) return;
  const int64_t width = wide ? 2 : 1;
  const auto* bytes = static_cast<const uint8_t*>(codes.get());
  if (begin == 0 && end == n_rows) {
    release_pages(bytes, bytes + n_bytes());
    return;
  }
  for (int64_t f = 0; f < n_features(); ++f) {
    release_pages(bytes + (f * n_rows + begin) * width, bytes + (f * n_rows + end) * width);
  }
}

std::shared_ptr<BinnedMatrix> bin_matrix(const MatrixView& x, std::shared_ptr<const Bins> bins,
                                         const int64_t* rows, int64_t n_rows, int n_threads) {
  auto result = std::make_shared<BinnedMatrix>();
  result->bins = bins;
  result->n_rows = n_rows;
  const int32_t n_features = bins->n_features();
  result->wide = needs_wide_codes(*bins);
  const std::shared_ptr<uint8_t[]> codes =
      std::make_shared_for_overwrite<uint8_t[]>(static_cast<size_t>(result->n_bytes()));
  result->codes = codes;
  const std::vector<CutSearch> searches = cut_searches(*bins);
  const int64_t row_chunk = std::min<int64_t>(16384, std::max<int64_t>(n_rows, 1));
  const int64_t n_row_chunks = (n_rows + row_chunk - 1) / row_chunk;
  const int64_t n_feature_blocks = (n_features + kFeatureBlock - 1) / kFeatureBlock;
  const double cost = kNanosecondsPerCode * row_chunk * kFeatureBlock;
  parallel_for(n_row_chunks * n_feature_blocks, n_threads, cost, [&](int64_t task) {
    const int64_t begin = task / n_feature_blocks * row_chunk;
    const int64_t end = std::min(n_rows, begin + row_chunk);
    const auto first = static_cast<int32_t>(task % n_feature_blocks * kFeatureBlock);
    const int32_t last = std::min(n_features, first + kFeatureBlock);
    if (result->wide) {
      code_block(x, *bins, rows, begin, end, first, last, searches, n_rows,
                 reinterpret_cast<uint16_t*>(codes.get()));
    } else {
      code_block(x, *bins, rows, begin, end, first, last, searches, n_rows, codes.get());
    }
  });
  return result;
}

}  // namespace rankgrove
