// Factory of the splitters that do not depend on queries, by the options of a forest.
#pragma once

#include <cstdint>
#include <memory>

#include "forests/criteria/families.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

// `table` is the criterion's; the root has `n_documents`, and their weights add up to
// `sample_weight`. Arguments must outlive the splitter.
template <typename Code>
std::unique_ptr<NodeSplitter<Code>> make_pointwise_splitter(const ForestData& data,
                                                            const ForestOptions& options,
                                                            const CriterionTable& table,
                                                            int64_t n_documents,
                                                            double sample_weight);

// Each is compiled in a file of its own: together they are a third of the work of a whole build.
extern template std::unique_ptr<NodeSplitter<uint8_t>> make_pointwise_splitter<uint8_t>(
    const ForestData&, const ForestOptions&, const CriterionTable&, int64_t, double);
extern template std::unique_ptr<NodeSplitter<uint16_t>> make_pointwise_splitter<uint16_t>(
    const ForestData&, const ForestOptions&, const CriterionTable&, int64_t, double);

}  // namespace rankgrove::forests
