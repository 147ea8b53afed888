#include "trees/binning.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/parallel.hpp"
#include "common/table_memory.hpp"

namespace rankgrove {
namespace {

// Features are read 16 at a time: one cache line of a row-major float32 matrix.
constexpr int32_t kFeatureBlock = 16;
constexpr double kNanosecondsPerCode = 3.0;
constexpr double kNanosecondsPerSort = 8.0;  // of a value

constexpr int64_t kRowTile = 256;

// Reads up to kRowTile values of a column, from row `tile` of `rows` on.
void read_tile(const TableColumn& column, const TableRows& rows, int64_t tile, int64_t n,
               float* out) {
  column.read(tile, rows.numbers ? rows.numbers + tile : nullptr, n, out);
}

// Codes rows begin..end of some columns of a table, of which the first is feature `first`.
template <typename Code>
void code_block(const ColumnTable& x, const TableRows& rows, int64_t begin, int64_t end,
                int32_t first_column, int32_t last_column, int32_t first,
                const std::vector<CutSearch>& searches, const Bins& bins, Code* codes) {
  float values[kRowTile];
  for (int64_t tile = begin; tile < end; tile += kRowTile) {
    const int64_t n = std::min(end - tile, kRowTile);
    for (int32_t column = first_column; column < last_column; ++column) {
      const int32_t f = first + column;
      read_tile(x.columns[column], rows, tile, n, values);
      const float fill = bins.fill[f];
      const Code missing = static_cast<Code>(bins.n_bins(f));
      const CutSearch& search = searches[f];
      Code* target = codes + static_cast<int64_t>(f) * rows.n + tile;
      if (bins.is_categorical(f)) {
        for (int64_t i = 0; i < n; ++i) {
          target[i] = static_cast<Code>(code_of_category(values[i], missing));
        }
        continue;
      }
      for (int64_t i = 0; i < n; ++i) values[i] = std::isnan(values[i]) ? fill : values[i];
      search.find(values, n, target);
      for (int64_t i = 0; i < n; ++i) target[i] = std::isnan(values[i]) ? missing : target[i];
    }
  }
}

}  // namespace

void BinFinder::add(const ColumnTable& x, const TableRows& rows, int n_threads) {
  const auto n_before = static_cast<int32_t>(found_.size());
  found_.resize(found_.size() + x.columns.size());
  for (int32_t first = 0; first < x.n_features(); first += kFeatureBlock) {
    const int32_t width = std::min(kFeatureBlock, x.n_features() - first);
    std::vector<std::vector<uint32_t>> keys(width);
    for (auto& column : keys) column.resize(rows.n);
    parallel_for((rows.n + kRowTile - 1) / kRowTile, n_threads,
                 kNanosecondsPerCode * kRowTile * width, [&](int64_t turn) {
                   const int64_t tile = turn * kRowTile;
                   const int64_t n = std::min(rows.n - tile, kRowTile);
                   float values[kRowTile];
                   for (int32_t j = 0; j < width; ++j) {
                     read_tile(x.columns[first + j], rows, tile, n, values);
                     const float stand_in = fill_[n_before + first + j];
                     uint32_t* target = keys[j].data() + tile;
                     for (int64_t i = 0; i < n; ++i) {
                       const float value = std::isnan(values[i]) ? stand_in : values[i];
                       const uint32_t key = sort_key(value);
                       target[i] = std::isnan(value) ? kMissingKey : key;
                     }
                   }
                 });
    parallel_for(
        width, n_threads, kNanosecondsPerSort * rows.n, [] { return std::vector<uint32_t>(); },
        [&](int64_t j, std::vector<uint32_t>& scratch) {
          found_[n_before + first + j] = find_feature_bins(keys[j], {}, limit_, scratch);
          std::vector<uint32_t>().swap(keys[j]);
        });
  }
}

std::shared_ptr<const Bins> BinFinder::bins() const { return join_bins(found_, fill_); }

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

Coder::Coder(std::shared_ptr<const Bins> bins, int64_t n_rows)
    : result_(std::make_shared<BinnedMatrix>()), searches_(cut_searches(*bins)) {
  result_->wide = needs_wide_codes(*bins);
  result_->bins = std::move(bins);
  result_->n_rows = n_rows;
  codes_ = std::make_shared_for_overwrite<uint8_t[]>(static_cast<size_t>(result_->n_bytes()));
  result_->codes = codes_;
}

void Coder::add(const ColumnTable& x, const int64_t* row_numbers, int n_threads) {
  const TableRows rows{row_numbers, result_->n_rows};
  const int64_t row_chunk = std::min<int64_t>(16384, std::max<int64_t>(rows.n, 1));
  const int64_t n_row_chunks = (rows.n + row_chunk - 1) / row_chunk;
  const int64_t n_blocks = (x.n_features() + kFeatureBlock - 1) / kFeatureBlock;
  const double cost = kNanosecondsPerCode * row_chunk * kFeatureBlock;
  parallel_for(n_row_chunks * n_blocks, n_threads, cost, [&](int64_t task) {
    const int64_t begin = task / n_blocks * row_chunk;
    const int64_t end = std::min(rows.n, begin + row_chunk);
    const auto first = static_cast<int32_t>(task % n_blocks * kFeatureBlock);
    const int32_t last = std::min(x.n_features(), first + kFeatureBlock);
    const auto code = [&](auto* codes) {
      code_block(x, rows, begin, end, first, last, n_done_, searches_, *result_->bins, codes);
    };
    if (result_->wide) {
      code(reinterpret_cast<uint16_t*>(codes_.get()));
    } else {
      code(codes_.get());
    }
  });
  n_done_ += x.n_features();
}

}  // namespace rankgrove
