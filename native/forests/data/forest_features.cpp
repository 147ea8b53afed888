#include "forests/data/forest_features.hpp"

#include <algorithm>
#include <utility>

#include "common/byte_square.hpp"
#include "common/parallel.hpp"

namespace rankgrove::forests {
namespace {

// Turns rows begin .. end - 1 of the columns into rows.
template <typename Code>
void turn(const BinnedMatrix& binned, int64_t begin, int64_t end, LargeVector<Code>& rows) {
  const int64_t m = binned.n_features();
  for (int64_t f = 0; f < m; ++f) {
    const Code* column = binned.column<Code>(static_cast<int32_t>(f));
    for (int64_t i = begin; i < end; ++i) rows[i * m + f] = column[i];
  }
}

// The same for bytes in squares, of which the last may overlap the one before.
void turn_squares(const BinnedMatrix& binned, int64_t begin, int64_t end,
                  LargeVector<uint8_t>& rows) {
  const int64_t m = binned.n_features();
  const uint8_t* columns[kByteSquare];
  for (int64_t i = begin; i < end; i += kByteSquare) {
    const int64_t row = std::min(i, end - kByteSquare);
    for (int64_t f = 0; f < m; f += kByteSquare) {
      const int64_t first = std::min(f, m - kByteSquare);
      for (int64_t c = 0; c < kByteSquare; ++c) {
        columns[c] = binned.column<uint8_t>(static_cast<int32_t>(first + c)) + row;
      }
      turn_byte_square(columns, rows.data() + row * m + first, m);
    }
  }
}

template <typename Code>
void transpose(const BinnedMatrix& binned, LargeVector<Code>& rows, int n_threads) {
  constexpr int64_t kBlock = 256;
  const int64_t n = binned.n_rows;
  rows.resize(static_cast<size_t>(n * binned.n_features()));
  const double cost = 1.0 * kBlock * binned.n_features();
  parallel_for((n + kBlock - 1) / kBlock, n_threads, cost, [&](int64_t block) {
    const int64_t begin = block * kBlock;
    const int64_t end = std::min(n, begin + kBlock);
    if constexpr (sizeof(Code) == 1) {
      if (end - begin >= kByteSquare && binned.n_features() >= kByteSquare) {
        turn_squares(binned, begin, end, rows);
        return;
      }
    }
    turn(binned, begin, end, rows);
  });
}

// The code that many rows of a sample have; -1 if there is none.
int32_t usual_code(const BinnedMatrix& binned, int32_t f) {
  constexpr int64_t kRows = 1024;
  constexpr double kMany = 0.4;
  if (binned.wide || binned.bins->is_categorical(f)) return -1;
  if (binned.is_sparse(f)) return binned.sparse.usual[f];
  const uint8_t* column = binned.column<uint8_t>(f);
  const int64_t step = std::max<int64_t>(1, binned.n_rows / kRows);
  std::vector<int32_t> counts(static_cast<size_t>(binned.n_bins(f)) + 1);
  int64_t n = 0;
  for (int64_t i = 0; i < binned.n_rows; i += step, ++n) ++counts[column[i]];
  const auto most = std::max_element(counts.begin(), counts.end());
  return *most >= kMany * static_cast<double>(n) ? static_cast<int32_t>(most - counts.begin()) : -1;
}

}  // namespace

std::vector<int32_t> queries_of_rows(const std::vector<int64_t>& offsets) {
  std::vector<int32_t> result(static_cast<size_t>(offsets.back()));
  for (size_t q = 0; q + 1 < offsets.size(); ++q) {
    std::fill(result.begin() + offsets[q], result.begin() + offsets[q + 1],
              static_cast<int32_t>(q));
  }
  return result;
}

ForestFeatures make_forest_features(std::shared_ptr<const BinnedMatrix> matrix,
                                    std::vector<int64_t> offsets, const float* feature_min,
                                    const float* feature_max, int n_threads) {
  ForestFeatures features;
  features.binned = std::move(matrix);
  features.offsets = std::move(offsets);
  features.query_of_row = queries_of_rows(features.offsets);
  const BinnedMatrix& binned = *features.binned;
  features.row_by_row = !binned.has_sparse();
  if (features.row_by_row && binned.wide) {
    transpose(binned, features.rows16, n_threads);
  } else if (features.row_by_row) {
    transpose(binned, features.rows8, n_threads);
  }
  for (int32_t f = 0; f < binned.n_features(); ++f) {
    features.usual.push_back(usual_code(binned, f));
  }
  features.bin_values = BinValues(*binned.bins, feature_min, feature_max);
  return features;
}

}  // namespace rankgrove::forests
