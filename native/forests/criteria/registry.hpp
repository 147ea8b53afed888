// From a criterion's name and the kind of data to its code: one line per criterion.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/criteria/entropy.hpp"
#include "forests/criteria/gini.hpp"
#include "forests/criteria/packed_sums.hpp"
#include "forests/criteria/squared_error.hpp"
#include "forests/options.hpp"

namespace rankgrove::forests {

namespace detail {

// The sums of C classes over nodes with at most `most_documents`.
template <template <typename> class Of, int C, typename Visitor>
auto visit_counts(const ForestData& data, const std::vector<double>& table, int64_t most_documents,
                  Visitor&& visitor) {
  if (most_documents <= PackedCounts<C>::kMostDocuments) {
    return visitor(Of<PackedCounts<C>>(data, table));
  }
  return visitor(Of<ClassCounts<C>>(data, table));
}

template <template <typename> class Of, typename Visitor>
auto visit_classes(const ForestData& data, const std::vector<double>& table, int64_t most_documents,
                   Visitor&& visitor) {
  if (!data.weight.empty()) return visitor(Of<ClassWeights>(data, table));
  switch (data.n_classes()) {
    case 2:
      return visit_counts<Of, 2>(data, table, most_documents, visitor);
    case 3:
      return visit_counts<Of, 3>(data, table, most_documents, visitor);
    case 5:
      return visit_counts<Of, 5>(data, table, most_documents, visitor);
    default:
      return visitor(Of<ClassCounts<0>>(data, table));
  }
}

}  // namespace detail

// Nodes with at most so many documents have cheaper sums than larger ones.
inline int64_t most_in_small_nodes(Criterion criterion, const ForestData& data) {
  const bool counts = criterion != Criterion::squared_error && data.weight.empty();
  if (counts && data.n_classes() == 3) return PackedCounts<3>::kMostDocuments;
  if (counts && data.n_classes() == 5) return PackedCounts<5>::kMostDocuments;
  return kUnlimited;
}

// Calls visitor(criterion) with the criterion's own type, for nodes with at most `most_documents`.
// Entropy and Gini need data with classes.
template <typename Visitor>
auto visit_criterion(Criterion criterion, const ForestData& data, const std::vector<double>& table,
                     int64_t most_documents, Visitor&& visitor) {
  switch (criterion) {
    case Criterion::entropy:
      return detail::visit_classes<Entropy>(data, table, most_documents, visitor);
    case Criterion::gini:
      return detail::visit_classes<Gini>(data, table, most_documents, visitor);
    default:
      if (!data.weight.empty()) return visitor(SquaredError<Moments>(data));
      if (PackedTargets::fits(data, most_documents)) {
        return visitor(SquaredError<PackedTargets>(data));
      }
      return visitor(SquaredError<CountAndSum>(data));
  }
}

}  // namespace rankgrove::forests
