#include "scoring/scorer.hpp"

#include <algorithm>
#include <numeric>

#include "common/parallel.hpp"

namespace rankgrove {

namespace {

constexpr int32_t kBlock = 256;           // rows scored together
constexpr int64_t kRowsPerThread = 1024;  // fewer are not worth waking a thread

std::vector<int32_t> all_trees(const EnsembleArrays& ensemble) {
  std::vector<int32_t> trees(ensemble.n_trees());
  std::iota(trees.begin(), trees.end(), 0);
  return trees;
}

}  // namespace

Scorer::Scorer(const EnsembleArrays& ensemble, const MissingPolicy& missing)
    : n_features_(ensemble.n_features),
      base_score_(ensemble.base_score.begin(), ensemble.base_score.end()),
      walker_(ensemble, all_trees(ensemble), missing) {}

template <typename T>
void Scorer::score_block(const MatrixView<T>& matrix, int64_t first_row, int32_t n_rows,
                         double* scores) const {
  const int32_t n_outputs = this->n_outputs();
  thread_local std::vector<double> sums;
  if (sums.size() < static_cast<size_t>(n_outputs) * kBlock) {
    sums.resize(static_cast<size_t>(n_outputs) * kBlock);
  }
  for (int32_t o = 0; o < n_outputs; ++o) {
    std::fill_n(sums.begin() + static_cast<int64_t>(o) * kBlock, n_rows, base_score_[o]);
  }
  walker_.add_scores(matrix, first_row, n_rows, sums.data(), kBlock);
  double* out = scores + first_row * n_outputs;
  for (int32_t i = 0; i < n_rows; ++i) {
    for (int32_t o = 0; o < n_outputs; ++o) {
      out[static_cast<int64_t>(i) * n_outputs + o] = sums[static_cast<int64_t>(o) * kBlock + i];
    }
  }
}

template <typename T>
void Scorer::predict(const MatrixView<T>& matrix, int n_threads, double* scores) const {
  const int64_t n_blocks = (matrix.n_rows + kBlock - 1) / kBlock;
  const int64_t useful = std::max<int64_t>(1, matrix.n_rows / kRowsPerThread);
  const int threads = static_cast<int>(std::min<int64_t>(n_threads, useful));
  parallel_for(n_blocks, threads, 1, [&](int64_t block) {
    const int64_t first = block * kBlock;
    const auto size = static_cast<int32_t>(std::min<int64_t>(kBlock, matrix.n_rows - first));
    score_block(matrix, first, size, scores);
  });
}

template void Scorer::predict(const MatrixView<float>&, int, double*) const;
template void Scorer::predict(const MatrixView<double>&, int, double*) const;

}  // namespace rankgrove
