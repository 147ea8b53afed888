#include "explain/shapley.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/parallel.hpp"
#include "explain/pack_walk.hpp"
#include "explain/quadrature.hpp"

namespace rankgrove {

namespace {

constexpr double kPointTime = 0.6;                // nanoseconds per row, node and point
constexpr double kExtentTime = 10;                // nanoseconds per node
constexpr double kMostTime = 1e8;                 // nanoseconds that a job may take, if it can
constexpr size_t kMostScratch = size_t{1} << 26;  // bytes, of a pack's way through a tree
constexpr int64_t kJobRows = 128;                 // that share the layout of a tree
constexpr int64_t kPairJobRows = 32;              // there are many pairs of features to hold

// A tree with splits, and the cost of explaining it.
struct PlannedTree {
  int32_t number;
  int32_t output;
  int32_t depth;
  int32_t n_points;
  double row_time;  // nanoseconds
};

// The trees in order, and how rows are parted into jobs, and these into packs.
struct Plan {
  std::vector<PlannedTree> trees;
  std::vector<Quadrature> quadratures;  // by number of points
  int32_t pack_rows;
  int64_t job_rows;

  Plan(const CountedEnsemble& ensemble, int64_t n_rows, bool pairs, int n_threads) {
    std::vector<TreeExtent> extents(ensemble.n_trees());
    const double nodes_per_tree =
        static_cast<double>(ensemble.left.size()) / std::max(1, ensemble.n_trees());
    parallel_for(ensemble.n_trees(), n_threads, kExtentTime * nodes_per_tree,
                 [&](int64_t t) { extents[t] = extent_of(ensemble, static_cast<int32_t>(t)); });
    size_t scratch = 1;  // bytes per group of rows
    int32_t most_points = 0;
    for (int32_t t = 0; t < ensemble.n_trees(); ++t) {
      const auto [depth, n_path_features] = extents[t];
      if (depth == 0) continue;
      const int32_t n_points = (n_path_features + 1) / 2;
      const auto n_nodes =
          static_cast<double>(ensemble.tree_offsets[t + 1] - ensemble.tree_offsets[t]);
      trees.push_back(
          {t, ensemble.tree_outputs[t], depth, n_points, kPointTime * n_nodes * n_points});
      most_points = std::max(most_points, n_points);
      scratch = std::max(scratch, size_t{3} * sizeof(Lanes64) * depth * n_points);
    }
    for (int32_t n = 0; n <= most_points; ++n) quadratures.emplace_back(n);
    pack_rows =
        kLanes64 * static_cast<int32_t>(std::clamp<size_t>(kMostScratch / scratch, 1, kMostGroups));
    const int64_t share = (n_rows / n_threads + pack_rows) / pack_rows * pack_rows;
    job_rows = std::clamp<int64_t>(share, pack_rows, pairs ? kPairJobRows : kJobRows);
  }

  // Trees that follow each other, and the nanoseconds that they keep a job.
  struct Run {
    size_t last;
    double job_time;
  };

  // The longest run from tree `first` on that does not keep a job for too long.
  Run run_from(size_t first) const {
    Run run{first, 0.0};
    while (run.last < trees.size()) {
      const double time = trees[run.last].row_time * static_cast<double>(job_rows);
      if (run.last > first && run.job_time + time > kMostTime) break;
      run.job_time += time;
      ++run.last;
    }
    return run;
  }
};

// The rows of a pack: their values, and the effects they have been given so far.
class Pack {
 public:
  // Copies the rows from `first_row` on of a tile; the last one stands in for those that are
  // wanting to a whole group. entries are the rows' in the answer.
  Pack(const Columns& columns, const float* tile, int32_t first_row, int32_t n_rows,
       const CountedEnsemble& ensemble, bool pairs, double* entries)
      : n_rows_(n_rows),
        n_groups_((n_rows + kLanes64 - 1) / kLanes64),
        n_features_(ensemble.n_features),
        n_outputs_(ensemble.n_outputs()),
        pairs_(pairs),
        entries_(entries),
        values_(int64_t{columns.size()} * n_groups_ * kLanes64),
        features_(n_outputs_ * n_features_ * n_groups_),
        pair_sums_(pairs ? n_outputs_ * n_pairs() * n_groups_ : 0) {
    const int32_t n_lanes = n_groups_ * kLanes64;
    for (int32_t c = 0; c < columns.size(); ++c) {
      for (int32_t i = 0; i < n_lanes; ++i) {
        const int32_t row = first_row + std::min(i, n_rows - 1);
        values_[int64_t{c} * n_lanes + i] =
            tile[int64_t{c} * Columns::kTileRows + tile_position<float>(row)];
      }
    }
    exchange([](double& sum, double& entry) { sum = entry; });
  }

  void explain(const TreeProgram& program, const PlannedTree& tree, PackWalk& walk) {
    const PackEffects effects{
        features_.data() + tree.output * n_features_ * n_groups_,
        pairs_ ? pair_sums_.data() + tree.output * n_pairs() * n_groups_ : nullptr, n_features_};
    walk.run(program, tree.depth, values_.data(), n_groups_ * kLanes64, n_groups_, effects);
  }

  void write() {
    exchange([](double& sum, double& entry) { entry = sum; });
  }

 private:
  int64_t n_pairs() const { return n_features_ * (n_features_ - 1) / 2; }

  // Calls body(sum, entry) for all entries: of features, or of a symmetric matrix of pairs that has
  // the features on its diagonal.
  template <typename Body>
  void exchange(Body&& body) {
    double* entry = entries_;
    for (int32_t row = 0; row < n_rows_; ++row) {
      for (int64_t output = 0; output < n_outputs_; ++output) {
        double* sum = lane(features_, output * n_features_, row);
        const int64_t step = pairs_ ? n_features_ + 1 : 1;
        for (int64_t i = 0; i < n_features_; ++i, sum += n_groups_ * kLanes64) {
          body(*sum, entry[i * step]);
        }
        if (pairs_) exchange_pairs(lane(pair_sums_, output * n_pairs(), row), entry, body);
        entry += pairs_ ? n_features_ * n_features_ : n_features_;
      }
    }
  }

  template <typename Body>
  void exchange_pairs(double* sum, double* entry, Body&& body) {
    for (int64_t i = 0; i < n_features_; ++i) {
      for (int64_t j = i + 1; j < n_features_; ++j, sum += n_groups_ * kLanes64) {
        body(*sum, entry[i * n_features_ + j]);
        entry[j * n_features_ + i] = entry[i * n_features_ + j];
      }
    }
  }

  double* lane(LaneBuffer<Lanes64>& sums, int64_t first, int32_t row) {
    return reinterpret_cast<double*>(sums.data() + first * n_groups_) + row;
  }

  int32_t n_rows_;
  int32_t n_groups_;
  int64_t n_features_;
  int64_t n_outputs_;
  bool pairs_;
  double* entries_;
  std::vector<float> values_;     // [column][row]
  LaneBuffer<Lanes64> features_;  // [output][feature][group]
  LaneBuffer<Lanes64> pair_sums_;
};

// The buffers of a thread, reused from job to job.
struct Workspace {
  TreeProgram program;
  PackWalk walk;
};

// Turns the features' own effects on the diagonal into what pairs leave of them.
void take_pairs_from_diagonal(int64_t n_features, double* effects) {
  for (int64_t i = 0; i < n_features; ++i) {
    double* row = effects + i * n_features;
    double of_pairs = 0;
    for (int64_t j = 0; j < n_features; ++j) of_pairs += j == i ? 0.0 : row[j];
    row[i] -= of_pairs;
  }
}

}  // namespace

void expected_scores(const CountedEnsemble& ensemble, double* scores) {
  std::ranges::copy(ensemble.base_score, scores);
  std::vector<double> mean;  // of the leaves below a node
  for (int32_t t = 0; t < ensemble.n_trees(); ++t) {
    const int64_t root = ensemble.tree_offsets[t];
    mean.assign(ensemble.tree_offsets[t + 1] - root, 0.0);
    for (auto i = static_cast<int64_t>(mean.size()) - 1; i >= 0; --i) {
      if (ensemble.is_leaf(root + i)) {
        mean[i] = ensemble.value[root + i];
      } else {
        const double share = ensemble.left_share(root, root + i);
        const int32_t left = ensemble.left[root + i];
        mean[i] = share * mean[left] + (1 - share) * mean[left + 1];
      }
    }
    scores[ensemble.tree_outputs[t]] += ensemble.tree_weights[t] * mean[0];
  }
}

template <typename T>
void add_shapley_values(const CountedEnsemble& ensemble, const MissingPolicy& policy,
                        const StridedRows<T>& matrix, bool pairs, int n_threads, double* effects) {
  std::vector<int32_t> all_trees(ensemble.n_trees());
  std::iota(all_trees.begin(), all_trees.end(), 0);
  const Columns columns(ensemble, all_trees, policy);
  const Plan plan(ensemble, matrix.n_rows, pairs, n_threads);
  const int64_t n_features = ensemble.n_features;
  const int64_t entry_size = pairs ? n_features * n_features : n_features;
  const int64_t row_size = ensemble.n_outputs() * entry_size;

  // Adds the values of the trees first .. last - 1 of the plan to the rows of a job.
  const auto explain = [&](int64_t job, size_t first, size_t last, Workspace& workspace) {
    const int64_t first_row = job * plan.job_rows;
    const auto n_rows = static_cast<int32_t>(std::min(plan.job_rows, matrix.n_rows - first_row));
    std::vector<float> tile(static_cast<size_t>(columns.size()) * Columns::kTileRows);
    columns.load_by_column(matrix.from_row(first_row), n_rows, 0, columns.size(), tile.data());
    std::vector<Pack> packs;
    for (int32_t row = 0; row < n_rows; row += plan.pack_rows) {
      packs.emplace_back(columns, tile.data(), row, std::min(plan.pack_rows, n_rows - row),
                         ensemble, pairs, effects + (first_row + row) * row_size);
    }
    for (size_t t = first; t < last; ++t) {
      const PlannedTree& tree = plan.trees[t];
      workspace.program.lay_out(tree.number, plan.quadratures[tree.n_points]);
      for (Pack& pack : packs) pack.explain(workspace.program, tree, workspace.walk);
    }
    for (Pack& pack : packs) pack.write();
  };

  const int64_t n_jobs = (matrix.n_rows + plan.job_rows - 1) / plan.job_rows;
  for (size_t first = 0; first < plan.trees.size();) {
    const auto [last, job_time] = plan.run_from(first);
    parallel_for(
        n_jobs, n_threads, job_time,
        [&] { return Workspace{TreeProgram(ensemble, columns), PackWalk()}; },
        [&, last = last](int64_t job, Workspace& workspace) {
          explain(job, first, last, workspace);
        });
    first = last;
  }
  if (!pairs) return;
  parallel_for(matrix.n_rows * ensemble.n_outputs(), n_threads, static_cast<double>(entry_size),
               [&](int64_t i) { take_pairs_from_diagonal(n_features, effects + i * entry_size); });
}

template void add_shapley_values(const CountedEnsemble&, const MissingPolicy&,
                                 const StridedRows<float>&, bool, int, double*);
template void add_shapley_values(const CountedEnsemble&, const MissingPolicy&,
                                 const StridedRows<double>&, bool, int, double*);

}  // namespace rankgrove
