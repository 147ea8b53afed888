// The definition of make_pointwise_splitter, for the two files that instantiate it.
#pragma once

#include <memory>
#include <utility>

#include "forests/criteria/registry.hpp"
#include "forests/pointwise/custom_splitter.hpp"
#include "forests/pointwise/make_splitter.hpp"
#include "forests/pointwise/pointwise_splitter.hpp"
#include "forests/pointwise/random_splitter.hpp"
#include "forests/pointwise/sized_splitter.hpp"

namespace rankgrove::forests {

template <typename Code>
std::unique_ptr<NodeSplitter<Code>> make_pointwise_splitter(const ForestData& data,
                                                            const ForestOptions& options,
                                                            const CriterionTable& table,
                                                            int64_t n_documents,
                                                            double sample_weight) {
  using Result = std::unique_ptr<NodeSplitter<Code>>;
  if (options.splitter == Splitter::kRandom) {
    return std::make_unique<RandomSplitter<Code>>(data.features, options);
  }
  if (options.custom) return std::make_unique<CustomSplitter<Code>>(data, options, sample_weight);
  Result result;
  visit_criterion(options.criterion, [&]<typename Criterion>(Criterion) {
    const auto up_to = [&](int64_t most_documents) {
      return Criterion::visit(data.targets, table, most_documents, [&](auto criterion) -> Result {
        return std::make_unique<PointwiseSplitter<Code, decltype(criterion)>>(
            data, options, std::move(criterion), sample_weight);
      });
    };
    const int64_t most = Criterion::most_in_small_nodes(data.targets);
    result = n_documents <= most
                 ? up_to(n_documents)
                 : std::make_unique<SizedSplitter<Code>>(up_to(most), most, up_to(n_documents));
  });
  return result;
}

}  // namespace rankgrove::forests
