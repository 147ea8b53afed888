#include "forests/sharded/node_histograms.hpp"

#include <algorithm>

#include "forests/nodes/feature_draw.hpp"

namespace rankgrove::forests {

std::vector<int32_t> drawn_features(const ForestFeatures& features, uint64_t key, int32_t n) {
  Random random(key);
  FeatureDraw draw(features.binned->n_features());
  std::vector<int32_t> drawn;
  while (static_cast<int32_t>(drawn.size()) < n) drawn.push_back(draw.next(random));
  return drawn;
}

int32_t features_at_once(const ForestFeatures& features, const ForestOptions& options) {
  const int32_t wanted = options.splitter == Splitter::kRandom ? 1 : options.max_features;
  return std::min(wanted, features.binned->n_features());
}

int64_t histogram_size(const ForestFeatures& features, const HistogramLayout& layout,
                       const OpenNode& node, const std::vector<int32_t>& drawn) {
  int64_t n_codes = 0;
  for (int32_t i = node.n_constant; i < node.n_drawn; ++i) {
    n_codes += features.binned->n_bins(drawn[i]) + 1;
  }
  return n_codes * layout.stride + HistogramLayout::kSquares;
}

void add_histogram(const ForestData& data, const HistogramLayout& layout, const ShardRows& rows,
                   const OpenNode& node, int32_t feature, int64_t* cells) {
  const ForestTargets& targets = data.targets;
  const auto add_all = [&](auto&& add) {
    visit_codes(data.features, rows, node, feature,
                [&](int64_t code, int64_t i) { add(cells + code * layout.stride, rows.rows[i]); });
  };
  if (layout.stride == 1) {
    add_all([](int64_t* cell, int32_t) { ++*cell; });
  } else if (layout.classes >= 0 && targets.weight.empty()) {
    add_all([&](int64_t* cell, int32_t row) { ++cell[targets.label[row]]; });
  } else if (layout.classes >= 0) {
    add_all([&](int64_t* cell, int32_t row) {
      const double weight = targets.weight[row];
      cell[targets.label[row]] += targets.weight_grid.units(weight);
      ++cell[layout.documents];
      cell[layout.target] += targets.target_grid.units(weight * targets.target[row]);
    });
  } else if (layout.weight >= 0) {
    add_all([&](int64_t* cell, int32_t row) {
      const double weight = targets.weight[row];
      ++cell[layout.documents];
      cell[layout.target] += targets.target_grid.units(weight * targets.target[row]);
      cell[layout.weight] += targets.weight_grid.units(weight);
    });
  } else {
    PackedReals packed(targets);
    const bool own_steps = has_own_steps(targets, node.all);
    if (own_steps) packed.start(node.all.low, node.all.high, node.all.n_documents);
    add_all([&](int64_t* cell, int32_t row) {
      const int64_t times = rows.times_of(row);
      const double target = targets.target[row];
      cell[layout.documents] += times;
      cell[layout.target] += times * (own_steps ? static_cast<int64_t>(packed.steps_of(target))
                                                : targets.target_grid.units(target));
      if (layout.rows >= 0) ++cell[layout.rows];
      if (layout.grid_target >= 0) {
        cell[layout.grid_target] += times * targets.target_grid.units(target);
      }
    });
  }
}

void add_squares(const ForestData& data, const ShardRows& rows, const OpenNode& node,
                 int64_t* squares) {
  const ForestTargets& targets = data.targets;
  if (!has_own_steps(targets, node.all)) {
    for (int64_t i = node.begin; i < node.end; ++i) {
      const int32_t row = rows.rows[i];
      const double target = targets.target[row];
      squares[0] += targets.weight.empty()
                        ? rows.times_of(row) * targets.square_grid.units(target * target)
                        : targets.square_grid.units(targets.weight[row] * target * target);
    }
    return;
  }
  PackedReals packed(targets);
  packed.start(node.all.low, node.all.high, node.all.n_documents);
  unsigned __int128 sum = 0;
  for (int64_t i = node.begin; i < node.end; ++i) {
    const uint64_t steps = packed.steps_of(targets.target[rows.rows[i]]);
    sum += static_cast<unsigned __int128>(steps) * steps * rows.times_of(rows.rows[i]);
  }
  for (int32_t part = 0; part < HistogramLayout::kSquares; ++part, sum >>= 32) {
    squares[part] += static_cast<int64_t>(static_cast<uint32_t>(sum));
  }
}

double squares_of(const ForestTargets& targets, const OpenNode& node, const int64_t* squares) {
  if (!has_own_steps(targets, node.all)) return targets.square_grid.value(squares[0]);
  unsigned __int128 sum = 0;
  for (int32_t part = HistogramLayout::kSquares; part-- > 0;) {
    sum = (sum << 32) + static_cast<uint64_t>(squares[part]);
  }
  PackedReals packed(targets);
  packed.start(node.all.low, node.all.high, node.all.n_documents);
  return packed.squares_of_steps(static_cast<double>(sum));
}

}  // namespace rankgrove::forests
