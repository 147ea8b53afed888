#include "explain/tree_program.hpp"

#include <algorithm>

#include "common/simd.hpp"

namespace rankgrove {

TreeExtent extent_of(const EnsembleArrays& ensemble, int32_t tree) {
  const int64_t root = ensemble.tree_offsets[tree];
  struct Visit {
    int64_t node;
    int32_t depth;
  };
  TreeExtent extent;
  std::vector<Visit> open{{root, 0}};
  std::vector<int32_t> path;        // features of the splits above
  std::vector<int32_t> n_distinct;  // up to each of them
  while (!open.empty()) {
    const Visit at = open.back();
    open.pop_back();
    path.resize(at.depth);
    n_distinct.resize(at.depth);
    const int32_t n_features = at.depth > 0 ? n_distinct.back() : 0;
    extent.depth = std::max(extent.depth, at.depth);
    extent.n_path_features = std::max(extent.n_path_features, n_features);
    if (ensemble.is_leaf(at.node)) continue;
    const int32_t feature = ensemble.feature[at.node];
    n_distinct.push_back(n_features + (std::ranges::find(path, feature) == path.end()));
    path.push_back(feature);
    const int64_t left = root + ensemble.left[at.node];
    open.push_back({left + 1, at.depth + 1});
    open.push_back({left, at.depth + 1});
  }
  return extent;
}

namespace {

// f of an edge, its part that rows which fail the edge keep, and what it replaces; of four points.
struct EdgeFactors {
  Lanes64 f, failed, inverse_before, weight_before;

  RANKGROVE_INLINE EdgeFactors(const Quadrature& quadrature, int32_t q, double z,
                               const TreeProgram::EdgeBefore& before) {
    Lanes64 at, rest;
    load(at, quadrature.at.data() + q);
    load(rest, quadrature.rest.data() + q);
    failed = rest * z;
    f = at + failed;
    inverse_before = Lanes64{} + 1.0;
    if (before.inverse != nullptr) load(inverse_before, before.inverse + q);
    weight_before = (1 - before.z) * inverse_before;
  }
};

RANKGROVE_SIMD void find_edge_terms(const Quadrature& quadrature, double z,
                                    const TreeProgram::EdgeBefore& before, double* met,
                                    double* failed, double* weigh_met, double* weigh_failed,
                                    double* inverse) {
  for (int32_t q = 0; q < quadrature.padded; q += kLanes64) {
    const EdgeFactors edge(quadrature, q, z, before);
    Lanes64 inverse_rest;
    load(inverse_rest, quadrature.inverse_rest.data() + q);
    const Lanes64 inverse_f = 1.0 / edge.f;
    store(inverse + q, inverse_f);
    store(met + q, edge.f * edge.inverse_before);
    store(failed + q, edge.failed * edge.inverse_before);
    store(weigh_met + q, (1 - z) * inverse_f - edge.weight_before);
    store(weigh_failed + q, -inverse_rest - edge.weight_before);
  }
}

RANKGROVE_INLINE void add_to(double* sums, const Lanes64& terms) {
  Lanes64 sum;
  load(sum, sums);
  store(sums, sum + terms);
}

RANKGROVE_SIMD void add_leaf_terms(const Quadrature& quadrature, double z,
                                   const TreeProgram::EdgeBefore& before, double value, double* met,
                                   double* failed, double* weigh_met, double* weigh_failed) {
  for (int32_t q = 0; q < quadrature.padded; q += kLanes64) {
    const EdgeFactors edge(quadrature, q, z, before);
    const Lanes64 scale = value * edge.inverse_before;
    add_to(met + q, scale * edge.f);
    add_to(failed + q, scale * edge.failed);
    add_to(weigh_met + q, scale * ((1 - z) - edge.f * edge.weight_before));
    add_to(weigh_failed + q, scale * (-z - edge.failed * edge.weight_before));
  }
}

}  // namespace

void TreeProgram::lay_out(int32_t tree, const Quadrature& quadrature) {
  quadrature_ = &quadrature;
  root_ = ensemble_.tree_offsets[tree];
  weight_ = ensemble_.tree_weights[tree];
  steps_.clear();
  const int64_t n_splits = (ensemble_.tree_offsets[tree + 1] - root_) / 2;
  terms_.resize(std::max<size_t>(terms_.size(), n_splits * kTerms * quadrature.padded));
  struct Visit {
    int64_t split;
    int32_t level;
  };
  std::vector<Visit> open{{root_, 0}};
  while (!open.empty()) {
    const Visit at = open.back();
    open.pop_back();
    if (!steps_.empty()) steps_.back().n_done = steps_.back().level - at.level + 1;
    add_step(at.level, at.split);
    const int64_t left = root_ + ensemble_.left[at.split];
    if (!ensemble_.is_leaf(left + 1)) open.push_back({left + 1, at.level + 1});
    if (!ensemble_.is_leaf(left)) open.push_back({left, at.level + 1});
  }
  steps_.back().n_done = steps_.back().level + 1;
}

TreeProgram::EdgeBefore TreeProgram::edge_before(int32_t level) {
  if (level == 0) return {1.0, nullptr};
  return {passes_[level], terms(path_[level], kEdgeInverse)};
}

void TreeProgram::add_step(int32_t level, int64_t split) {
  const auto number = static_cast<int64_t>(steps_.size());
  path_.resize(level);
  passes_.resize(level);
  Step step{};
  step.split = split;
  step.level = level;
  step.feature = ensemble_.feature[split];
  step.column = columns_.find(step.feature, ensemble_.missing_left[split]);
  step.threshold = ensemble_.threshold[split];
  step.has_set = ensemble_.has_set(split);
  if (step.has_set) step.set = ensemble_.set(split);
  if (level > 0) add_edge(step, number);
  if (level == 0) passes_.push_back(1.0);
  step.before = level;
  const auto edge_feature = [&](int32_t at) {
    return at == level ? step.edge_feature : steps_[path_[at]].edge_feature;
  };
  while (step.before > 0 && edge_feature(step.before) != step.feature) --step.before;
  path_.push_back(number);
  add_leaves(step, number);
  steps_.push_back(step);
}

void TreeProgram::add_edge(Step& step, int64_t number) {
  const Step& above = steps_[path_[step.level - 1]];
  const double left_share = ensemble_.left_share(root_, above.split);
  const EdgeBefore before = edge_before(above.before);
  step.edge_feature = above.feature;
  step.edge_before = above.before;
  step.edge_is_right = step.split != root_ + ensemble_.left[above.split];
  step.edge_share = step.edge_is_right ? 1 - left_share : left_share;
  step.joins = above.has_leaves || step.edge_is_right;
  passes_.push_back(before.z * step.edge_share);
  find_edge_terms(*quadrature_, passes_.back(), before, terms(number, kEdgeMet),
                  terms(number, kEdgeFailed), terms(number, kEdgeWeighMet),
                  terms(number, kEdgeWeighFailed), terms(number, kEdgeInverse));
}

void TreeProgram::add_leaves(Step& step, int64_t number) {
  const int64_t left = root_ + ensemble_.left[step.split];
  const double left_share = ensemble_.left_share(root_, step.split);
  for (const Term term : {kLeavesLeft, kLeavesRight, kLeavesWeighLeft, kLeavesWeighRight}) {
    std::fill_n(terms(number, term), quadrature_->padded, 0.0);
  }
  for (const bool right : {false, true}) {
    if (!ensemble_.is_leaf(left + right)) continue;
    const double value = weight_ * ensemble_.value[left + right];
    const double share = right ? 1 - left_share : left_share;
    const EdgeBefore before = edge_before(step.before);
    step.has_leaves = true;
    step.lost_leaves += value * share;
    add_leaf_terms(*quadrature_, before.z * share, before, value,
                   terms(number, right ? kLeavesRight : kLeavesLeft),
                   terms(number, right ? kLeavesLeft : kLeavesRight),
                   terms(number, right ? kLeavesWeighRight : kLeavesWeighLeft),
                   terms(number, right ? kLeavesWeighLeft : kLeavesWeighRight));
  }
}

}  // namespace rankgrove
