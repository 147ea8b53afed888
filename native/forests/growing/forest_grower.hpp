// Grows the trees of a forest, each by one thread, each from its own number.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "forests/criteria/families.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/data/forest_sample.hpp"
#include "forests/growing/forest_options.hpp"
#include "trees/tree.hpp"

namespace rankgrove::forests {

// The lookup table of the criterion for nodes of up to this many documents.
CriterionTable criterion_table(const ForestData& data, const ForestOptions& options,
                               int64_t largest_node);

// Whether trees need a row only once, however often it was drawn: they then have fewer rows.
bool counts_repeats(const ForestData& data, const ForestOptions& options,
                    const ForestSample& sample, int64_t largest_node);

// Called now and then by the calling thread only, with the number of finished trees; throws to
// stop.
using ForestProgress = std::function<void(int64_t)>;

// Fills `trees` with the trees number first_tree, first_tree + 1, ...; if it is stopped, unfinished
// ones stay null.
void grow_forest(const ForestData& data, const ForestOptions& options, const ForestSample& sample,
                 uint64_t seed, int64_t first_tree, std::vector<std::shared_ptr<Tree>>& trees,
                 int n_threads, const ForestProgress& progress);

}  // namespace rankgrove::forests
