// Argument checks that the binding files of forests share.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "forests/criteria/registry.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/data/forest_sample.hpp"
#include "forests/growing/forest_options.hpp"

namespace rankgrove {

// Targets know the features that they belong to.
struct BoundTargets {
  std::shared_ptr<const forests::ForestFeatures> features;
  forests::ForestTargets targets;

  forests::ForestData data() const { return {*features, targets}; }
};

template <typename T>
std::vector<T> copied(const In<T>& values) {
  return std::vector<T>(values.data(), values.data() + values.shape(0));
}

inline void require_offsets(const std::vector<int64_t>& offsets, int64_t n_rows) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == n_rows,
          "query offsets must run from 0 to the number of rows");
  for (size_t q = 1; q < offsets.size(); ++q) {
    require(offsets[q] >= offsets[q - 1], "query offsets must not fall");
  }
}

// A bootstrap may be larger than the data, within reason.
inline constexpr int64_t kMostDraws = 100;

inline void require_drawable(const forests::ForestSample& sample,
                             const std::vector<int64_t>& offsets) {
  const bool queries = sample.unit == forests::SampleUnit::kQueries;
  const int64_t n_own = queries ? static_cast<int64_t>(offsets.size()) - 1 : offsets.back();
  const int64_t n_units = sample.share.alone() ? n_own : sample.share.n_all;
  require(
      sample.share.alone() || (sample.share.first >= 0 && sample.share.first + n_own <= n_units),
      "the units of a worker must lie within those of all");
  require(sample.size == 0 || n_units > 0, "cannot draw a sample from nothing");
  require(sample.size <= kMostDraws * n_units && sample.size < (int64_t{1} << 31),
          "subsample: a sample of " + std::to_string(sample.size) +
              (queries ? " queries" : " documents") + " is too large: there are " +
              std::to_string(n_units) + ", and at most " + std::to_string(kMostDraws) +
              " times as many and 2^31 - 1 can be drawn");
  if (queries && sample.replacement) {
    int64_t longest = 1;
    for (size_t q = 1; q < offsets.size(); ++q) {
      longest = std::max(longest, offsets[q] - offsets[q - 1]);
    }
    require(sample.size < (int64_t{1} << 31) / longest,
            "subsample: " + std::to_string(sample.size) + " queries of up to " +
                std::to_string(longest) +
                " documents, drawn with replacement, could be more than 2^31 - 1 documents");
  }
  const size_t n_weights = sample.replacement ? sample.weighted_draw.size() : sample.weights.size();
  require(
      n_weights == 0 || static_cast<int64_t>(n_weights) == (sample.replacement ? n_own : n_units),
      "there must be one weight per unit of sampling");
}

inline void require_fitting(const forests::ForestOptions& options,
                            const forests::ForestSample& sample, const forests::ForestData& data) {
  require_drawable(sample, data.features.offsets);
  require(options.listwise_levels == 0 || !data.targets.metric.scale.empty(),
          "listwise splits need a metric");
  require(options.listwise_levels == 0 || sample.unit == forests::SampleUnit::kQueries,
          "listwise splits need samples of whole queries");
  require(!options.missing_branch || (options.listwise_levels == 0 && !options.custom),
          "missing='branch' needs pointwise splits by a criterion that is not a Python function");
  bool needs_classes = options.custom.needs_classes;
  if (!options.custom) {
    forests::visit_criterion(options.criterion,
                             [&](auto criterion) { needs_classes = criterion.needs_classes; });
  }
  require(!needs_classes || data.targets.has_classes(),
          "the criterion '" + options.criterion + "' needs labels that are classes");
}

inline forests::ListwiseMetric make_metric(const In<double>& gain, const In<double>& discount,
                                           const In<double>& scale, const In<double>& weight,
                                           const std::vector<int64_t>& offsets) {
  const size_t n_queries = offsets.size() - 1;
  require(static_cast<int64_t>(gain.shape(0)) == offsets.back(),
          "gain must have one value per row");
  require(scale.shape(0) == n_queries && weight.shape(0) == n_queries,
          "scale and weight must have one value per query");
  size_t longest = 0;
  for (size_t q = 0; q < n_queries; ++q) {
    longest = std::max(longest, static_cast<size_t>(offsets[q + 1] - offsets[q]));
  }
  forests::ListwiseMetric metric;
  metric.gain = copied(gain);
  metric.scale = copied(scale);
  metric.weight = copied(weight);
  metric.cumulative.assign(longest + 1, 0.0);
  for (size_t rank = 0; rank < longest; ++rank) {
    metric.cumulative[rank + 1] =
        metric.cumulative[rank] + (rank < discount.shape(0) ? discount.data()[rank] : 0.0);
  }
  return metric;
}

}  // namespace rankgrove
