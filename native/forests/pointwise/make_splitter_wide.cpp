#include "forests/pointwise/make_splitter_impl.hpp"

namespace rankgrove::forests {

template std::unique_ptr<NodeSplitter<uint16_t>> make_pointwise_splitter<uint16_t>(
    const ForestData&, const ForestOptions&, const CriterionTable&, int64_t, double);

}  // namespace rankgrove::forests
