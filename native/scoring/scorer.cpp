#include "scoring/scorer.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace rankgrove {

namespace {

// Most rows scored together: enough to pay for bringing a deep tree into the cache.
constexpr int32_t kWalkRows = 16 * kBitRows;
constexpr double kNanosecondsPerBits = 2.0;  // of a row in a tree
constexpr double kNanosecondsPerWalk = 20.0;
constexpr size_t kMostSegments = 8;

struct Segment {
  bool bits;
  std::vector<int32_t> trees;
};

// Cuts the trees into runs that are scored in the same way.
std::vector<Segment> segments_of(const EnsembleArrays& ensemble, ScoringMethod method) {
  std::vector<Segment> segments;
  for (int32_t tree = 0; tree < ensemble.n_trees(); ++tree) {
    const bool accepted = ensemble.precise.empty() ? BitTrees<float>::accepts(ensemble, tree)
                                                   : BitTrees<double>::accepts(ensemble, tree);
    const bool bits = method == ScoringMethod::kFastest && accepted;
    if (segments.empty() || segments.back().bits != bits) segments.push_back({bits, {}});
    segments.back().trees.push_back(tree);
  }
  // Each segment reads the rows anew: walking small trees as well is cheaper than many segments.
  if (segments.size() > kMostSegments) return segments_of(ensemble, ScoringMethod::kWalk);
  return segments;
}

}  // namespace

Scorer::Scorer(const EnsembleArrays& ensemble, const MissingPolicy& policy, ScoringMethod method,
               int32_t vector_bits)
    : n_features_(ensemble.n_features),
      base_score_(ensemble.base_score.begin(), ensemble.base_score.end()) {
  for (const Segment& segment : segments_of(ensemble, method)) {
    if (segment.bits && ensemble.precise.empty()) {
      segments_.emplace_back(std::in_place_type<BitTrees<float>>, ensemble, segment.trees, policy,
                             vector_bits);
    } else if (segment.bits) {
      segments_.emplace_back(std::in_place_type<BitTrees<double>>, ensemble, segment.trees, policy,
                             vector_bits);
    } else {
      segments_.emplace_back(std::in_place_type<Walker>, ensemble, segment.trees, policy);
      walks_ = true;
    }
    nanoseconds_per_row_ += static_cast<double>(segment.trees.size()) *
                            (segment.bits ? kNanosecondsPerBits : kNanosecondsPerWalk);
  }
}

template <typename T>
void Scorer::score_block(const StridedRows<T>& matrix, int32_t n_rows, bool go_on,
                         double* scores) const {
  const int32_t n_outputs = this->n_outputs();
  thread_local std::vector<double> sums;  // by output
  if (sums.size() < static_cast<size_t>(n_outputs) * n_rows) {
    sums.resize(static_cast<size_t>(n_outputs) * n_rows);
  }
  for (int32_t o = 0; o < n_outputs; ++o) {
    for (int32_t i = 0; i < n_rows; ++i) {
      sums[static_cast<int64_t>(o) * n_rows + i] =
          go_on ? scores[static_cast<int64_t>(i) * n_outputs + o] : base_score_[o];
    }
  }
  for (const auto& segment : segments_) {
    const int32_t step = std::holds_alternative<Walker>(segment) ? n_rows : kBitRows;
    for (int32_t first = 0; first < n_rows; first += step) {
      std::visit(
          [&](const auto& trees) {
            trees.add_scores(matrix.from_row(first), std::min(step, n_rows - first),
                             sums.data() + first, n_rows);
          },
          segment);
    }
  }
  for (int32_t i = 0; i < n_rows; ++i) {
    for (int32_t o = 0; o < n_outputs; ++o) {
      *scores++ = sums[static_cast<int64_t>(o) * n_rows + i];
    }
  }
}

template <typename T>
void Scorer::predict(const StridedRows<T>& matrix, int n_threads, bool go_on,
                     double* scores) const {
  const int threads =
      paid_threads(n_threads, static_cast<double>(matrix.n_rows) * nanoseconds_per_row_);
  // Equal shares for the threads, in whole bit vectors.
  const int64_t share = (matrix.n_rows / threads + kBitRows) / kBitRows * kBitRows;
  const int64_t block_rows = std::min<int64_t>(walks_ ? kWalkRows : kBitRows, share);
  const int64_t n_blocks = (matrix.n_rows + block_rows - 1) / block_rows;
  const double cost = static_cast<double>(block_rows) * nanoseconds_per_row_;
  parallel_for(n_blocks, threads, cost, [&](int64_t block) {
    const int64_t first = block * block_rows;
    const auto n_rows = static_cast<int32_t>(std::min(block_rows, matrix.n_rows - first));
    score_block(matrix.from_row(first), n_rows, go_on, scores + first * n_outputs());
  });
}

template void Scorer::predict(const StridedRows<float>&, int, bool, double*) const;
template void Scorer::predict(const StridedRows<double>&, int, bool, double*) const;

}  // namespace rankgrove
