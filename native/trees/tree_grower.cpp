#include "trees/tree_grower.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"
#include "trees/apply_tree.hpp"
#include "trees/leaf_sums.hpp"

namespace rankgrove {
namespace {

constexpr uint64_t kNoiseSeed = 0x6e6f697365;

// The rows of a matrix that are not among some, which ascend.
std::vector<int32_t> other_rows(const int32_t* rows, int64_t n_rows, int64_t n_all) {
  std::vector<int32_t> others;
  others.reserve(n_all - n_rows);
  for (int32_t row = 0; row < n_all; ++row) {
    if (n_rows > 0 && *rows == row) {
      ++rows, --n_rows;
    } else {
      others.push_back(row);
    }
  }
  return others;
}

}  // namespace

TreeGrower::TreeGrower(std::shared_ptr<const BinnedMatrix> binned, GrowOptions options,
                       RowShare share, int n_threads)
    : state_(std::move(binned), std::move(options), std::move(share), n_threads),
      histograms_(state_),
      search_(state_.layout, *state_.binned->bins, state_.options.search_rules()),
      node_growth_(state_, histograms_, search_),
      oblivious_growth_(state_, histograms_, search_) {}

// The cost of a tree as far as it can be estimated beforehand: its first histogram, and searches.
double TreeGrower::tree_nanoseconds(int64_t n_rows) const {
  const double n_searches =
      std::min<double>(state_.options.max_leaf_nodes, static_cast<double>(n_rows));
  return histograms_.nanoseconds(n_rows) + n_searches * node_growth_.search_nanoseconds();
}

// sqrt(sum of g^2 / sum of h) over the tree's rows on all workers, from exact sums of integers:
// squares have up to 62 bits if there is one row and 30 if there are many, and are summed in
// halves.
double TreeGrower::gradient_unit_by_chance() const {
  const PackedGradients& packed = state_.packed;
  const int32_t* rows = state_.partition.rows();
  int64_t sums[] = {0, 0, 0};
  for (int64_t i = 0; i < state_.partition.size(); ++i) {
    const int64_t word = packed.words[rows[i]];
    const int64_t square = int64_t{gradient_field(word)} * gradient_field(word);
    sums[0] += square >> 16;
    sums[1] += square & 0xffff;
    sums[2] += hessian_field(word);
  }
  state_.share.sum(sums, 3);
  if (sums[2] == 0) return 0.0;
  const double squares = static_cast<double>(sums[0]) * 0x1p16 + static_cast<double>(sums[1]);
  return packed.gradient_unit *
         std::sqrt(squares / (static_cast<double>(sums[2]) * packed.hessian_unit));
}

bool TreeGrower::penalises_categories() const {
  return search_.rules().categories.penalty > 0.0 && state_.binned->bins->any_categorical();
}

Tree TreeGrower::grow(const float* gradients, const float* hessians, const int32_t* rows,
                      int64_t n_rows, uint64_t seed, double random_strength) {
  const BinnedMatrix& binned = *state_.binned;
  state_.samples_all_rows = rows == nullptr;
  if (state_.samples_all_rows) n_rows = binned.n_rows;
  const ThreadPool::KeepAwake keep_awake(paid_threads(state_.n_threads, tree_nanoseconds(n_rows)));
  const GradientOptions packing{state_.options.least_squares_splits, n_rows, seed,
                                state_.n_threads};
  pack_gradients(gradients, hessians, binned.n_rows, state_.share, packing, state_.packed);
  leaf_of_row_.resize(binned.n_rows);  // once: Python has a view
  state_.partition.reset(rows, n_rows, leaf_of_row_.data(), state_.n_threads);
  state_.features.start_tree(seed);
  state_.interactions.start_tree();
  state_.noise = {};
  state_.packed.gain_by_chance = 0.0;
  if (random_strength > 0.0 || penalises_categories()) {
    const double unit = gradient_unit_by_chance();
    if (random_strength > 0.0) state_.noise = {random_strength * unit, mix64(seed ^ kNoiseSeed)};
    if (penalises_categories()) state_.packed.gain_by_chance = unit * unit;
  }

  Tree tree;
  const std::vector<GrownLeaf> leaves = state_.options.growth == Growth::kOblivious
                                            ? oblivious_growth_.grow(tree)
                                            : node_growth_.grow(tree);
  set_node_values(state_, leaves, gradients, hessians, tree, leaf_of_row_.data());
  if (!state_.samples_all_rows) {
    const std::vector<int32_t> others = other_rows(rows, n_rows, binned.n_rows);
    apply_tree(tree, binned, others.data(), std::ssize(others), state_.n_threads,
               leaf_of_row_.data());
  }
  binned.release();
  return tree;
}

}  // namespace rankgrove
