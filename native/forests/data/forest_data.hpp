// The data on which a forest is grown, shared by all trees and read-only.
#pragma once

#include "forests/data/forest_features.hpp"
#include "forests/data/forest_targets.hpp"

namespace rankgrove::forests {

struct ForestData {
  const ForestFeatures& features;
  const ForestTargets& targets;
};

}  // namespace rankgrove::forests
