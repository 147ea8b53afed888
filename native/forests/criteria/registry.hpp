// From a criterion's name and the kind of data to its code: one line per criterion.
#pragma once

#include <utility>
#include <vector>

#include "forests/criteria/entropy.hpp"
#include "forests/criteria/gini.hpp"
#include "forests/criteria/squared_error.hpp"
#include "forests/options.hpp"

namespace rankgrove::forests {

namespace detail {

template <template <typename> class C, typename Visitor>
auto visit_sums(const ForestData& data, const std::vector<double>& table, Visitor&& visitor) {
  if (!data.weight.empty()) return visitor(C<ClassWeights>(data, table));
  switch (data.n_classes()) {
    case 2:
      return visitor(C<ClassCounts<2>>(data, table));
    case 3:
      return visitor(C<ClassCounts<3>>(data, table));
    case 5:
      return visitor(C<ClassCounts<5>>(data, table));
    default:
      return visitor(C<ClassCounts<0>>(data, table));
  }
}

}  // namespace detail

// Calls visitor(criterion) with the criterion's own type. Entropy and Gini need data with classes.
template <typename Visitor>
auto visit_criterion(Criterion criterion, const ForestData& data, const std::vector<double>& table,
                     Visitor&& visitor) {
  switch (criterion) {
    case Criterion::entropy:
      return detail::visit_sums<Entropy>(data, table, std::forward<Visitor>(visitor));
    case Criterion::gini:
      return detail::visit_sums<Gini>(data, table, std::forward<Visitor>(visitor));
    default:
      if (data.weight.empty()) return visitor(SquaredError<CountAndSum>(data));
      return visitor(SquaredError<Moments>(data));
  }
}

}  // namespace rankgrove::forests
