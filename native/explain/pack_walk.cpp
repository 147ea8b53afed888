#include "explain/pack_walk.hpp"

#include <algorithm>
#include <utility>

namespace rankgrove {

void PackWalk::make_room(const TreeProgram& program, int32_t depth, int32_t n_groups, bool pairs) {
  shape_ = {program.quadrature().n_points, n_groups};
  const auto n_levels = static_cast<size_t>(depth);
  path_.resize(std::max(path_.size(), n_levels));
  met_.grow_to(n_levels * n_groups);
  kept_.grow_to(n_levels * n_groups);
  product_.grow_to(n_levels * shape_.size());
  below_.grow_to(n_levels * shape_.size());
  if (pairs) {
    edge_weights_.grow_to(n_levels * shape_.size());
    weighed_.grow_to(shape_.size());
  }
}

void PackWalk::run(const TreeProgram& program, int32_t depth, const float* values, int64_t stride,
                   int32_t n_groups, const PackEffects& effects) {
  make_room(program, depth, n_groups, effects.pairs != nullptr);
  effects_ = effects;
  for (int32_t q = 0; q < shape_.n_points; ++q) {
    const Lanes64 weight = Lanes64{} + program.quadrature().weight[q];
    std::fill_n(product(0) + q * n_groups, n_groups, weight);
  }
  for (int64_t number = 0; number < std::ssize(program.steps()); ++number) {
    const Step& step = program.steps()[number];
    path_[step.level] = number;
    if (step.level > 0) enter(program, number);
    if (step.has_set) {
      find_categories(values + step.column * stride, step.set, n_groups, met(step.level));
    } else {
      compare(values + step.column * stride, step.threshold, n_groups, met(step.level));
    }
    if (step.has_leaves) add_leaves(program, number);
    for (int32_t i = 0; i < step.n_done; ++i) {
      if (step.level > i) leave(program, path_[step.level - i]);
    }
  }
}

void PackWalk::enter(const TreeProgram& program, int64_t number) {
  const Step& step = program.steps()[number];
  const LaneMask64* before = kept_before(step.edge_before);
  narrow(met(step.level - 1), step.edge_is_right, before, shape_.n_groups, kept(step.level));
  const ByCase factor{program.terms(number, TreeProgram::kEdgeMet),
                      program.terms(number, TreeProgram::kEdgeFailed), step.edge_share};
  multiply(product(step.level - 1), kept(step.level), before, factor, shape_, product(step.level));
  if (effects_.pairs == nullptr) return;
  const ByCase weight{program.terms(number, TreeProgram::kEdgeWeighMet),
                      program.terms(number, TreeProgram::kEdgeWeighFailed), 0.0};
  spread(kept(step.level), before, weight, shape_, edge_weights(step.level));
}

void PackWalk::add_leaves(const TreeProgram& program, int64_t number) {
  const Step& step = program.steps()[number];
  const LaneMask64* before = kept_before(step.before);
  const ByCase value{program.terms(number, TreeProgram::kLeavesLeft),
                     program.terms(number, TreeProgram::kLeavesRight), step.lost_leaves};
  const ByCase weight{program.terms(number, TreeProgram::kLeavesWeighLeft),
                      program.terms(number, TreeProgram::kLeavesWeighRight), 0.0};
  multiply_and_weigh(product(step.level), met(step.level), before, value, weight, shape_,
                     below(step.level), effect(step.feature));
  if (effects_.pairs == nullptr) return;
  spread(met(step.level), before, weight, shape_, weighed_.data());
  multiply_lanes(weighed_.data(), product(step.level), shape_.size(), weighed_.data());
  add_pairs(program, step.level, step.feature);
}

void PackWalk::leave(const TreeProgram& program, int64_t number) {
  const Step& step = program.steps()[number];
  const ByCase weight{program.terms(number, TreeProgram::kEdgeWeighMet),
                      program.terms(number, TreeProgram::kEdgeWeighFailed), 0.0};
  weigh_and_join(below(step.level), kept(step.level), kept_before(step.edge_before), weight, shape_,
                 step.joins, below(step.level - 1), effect(step.edge_feature));
  if (effects_.pairs == nullptr) return;
  multiply_lanes(below(step.level), edge_weights(step.level), shape_.size(), weighed_.data());
  add_pairs(program, step.level - 1, step.edge_feature);
}

// Pairs the edge in hand, by `feature` and below the split of a level, with the edges above it.
void PackWalk::add_pairs(const TreeProgram& program, int32_t level, int32_t feature) {
  for (int32_t above = 1; above <= level; ++above) {
    const int32_t other = program.steps()[path_[above]].edge_feature;
    if (other == feature) continue;
    const auto [first, second] = std::minmax(feature, other);
    const int64_t pair = pair_index(first, second, effects_.n_features);
    add_half_products(weighed_.data(), edge_weights(above), shape_,
                      effects_.pairs + pair * shape_.n_groups);
  }
}

}  // namespace rankgrove
