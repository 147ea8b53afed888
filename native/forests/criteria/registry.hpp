// The criteria of forests: one line each. Python's choices follow from it.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "forests/criteria/entropy.hpp"
#include "forests/criteria/gini.hpp"
#include "forests/criteria/squared_error.hpp"

namespace rankgrove::forests {

using Criteria = std::tuple<  //
    EntropyCriterion,         //
    GiniCriterion,            //
    SquaredErrorCriterion     //
    >;

// Calls visitor(criterion) for each of them until it returns true; tells whether it did.
template <typename Visitor>
bool any_criterion(Visitor&& visitor) {
  return std::apply([&](auto... criterion) { return (visitor(criterion) || ...); }, Criteria{});
}

// Calls visitor(criterion) with the criterion of some name; false if there is none.
template <typename Visitor>
bool visit_criterion(std::string_view name, Visitor&& visitor) {
  return any_criterion([&](auto criterion) {
    if (criterion.name != name) return false;
    visitor(criterion);
    return true;
  });
}

}  // namespace rankgrove::forests
