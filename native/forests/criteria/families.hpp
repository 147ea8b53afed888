// Two families of criteria: on classes and on targets. A family chooses the fastest kind of sums
// for the data and the size of a node, and with it the instantiation of a criterion.
//
// A criterion is a template  Of<Sums>  that adds score(cell) and perfect_score(documents, cell) to
// some sums of documents (class_counts.hpp, packed_sums.hpp), and a struct that derives from its
// family and has a name. A split gains  score(left) + score(right) - score(node).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "forests/criteria/class_counts.hpp"
#include "forests/criteria/packed_sums.hpp"
#include "forests/data/forest_targets.hpp"

namespace rankgrove::forests {

// Values that a criterion looks up, computed once for all trees.
using CriterionTable = std::vector<double>;

template <template <typename> class Of>
struct OfClasses {
  static constexpr bool needs_classes = true;

  static CriterionTable table(const ForestTargets&, int64_t /*largest_node*/) { return {}; }

  // Nodes with at most this many documents have cheaper sums than larger ones.
  static int64_t most_in_small_nodes(const ForestTargets& targets) {
    if (targets.weight.empty() && targets.n_classes() == 3) return PackedCounts<3>::kMostDocuments;
    if (targets.weight.empty() && targets.n_classes() == 5) return PackedCounts<5>::kMostDocuments;
    return std::numeric_limits<int64_t>::max();
  }

  // Whether a row that was drawn several times may be listed once, in trees of this many documents.
  static bool counts_repeats(const ForestTargets&, int64_t /*n_documents*/) { return false; }

  // Calls visitor(criterion) with the criterion for nodes with at most `most_documents`.
  template <typename Visitor>
  static auto visit(const ForestTargets& targets, const CriterionTable& table,
                    int64_t most_documents, Visitor&& visitor) {
    if (!targets.weight.empty()) return visitor(Of<ClassWeights>(targets, table));
    switch (targets.n_classes()) {
      case 2:
        return visit_counts<2>(targets, table, most_documents, visitor);
      case 3:
        return visit_counts<3>(targets, table, most_documents, visitor);
      case 5:
        return visit_counts<5>(targets, table, most_documents, visitor);
      default:
        return visitor(Of<ClassCounts<0>>(targets, table));
    }
  }

 private:
  template <int C, typename Visitor>
  static auto visit_counts(const ForestTargets& targets, const CriterionTable& table,
                           int64_t most_documents, Visitor&& visitor) {
    if (most_documents <= PackedCounts<C>::kMostDocuments) {
      return visitor(Of<PackedCounts<C>>(targets, table));
    }
    return visitor(Of<ClassCounts<C>>(targets, table));
  }
};

template <template <typename> class Of>
struct OfTargets {
  static constexpr bool needs_classes = false;

  static CriterionTable table(const ForestTargets&, int64_t /*largest_node*/) { return {}; }

  static int64_t most_in_small_nodes(const ForestTargets& targets) {
    if (targets.weight.empty() && !targets.has_classes()) return PackedReals::kMostDocuments;
    return std::numeric_limits<int64_t>::max();
  }

  static bool counts_repeats(const ForestTargets& targets, int64_t n_documents) {
    if (!targets.weight.empty()) return false;
    if (targets.has_classes()) return PackedTargets::fits(targets, n_documents);
    return n_documents <= PackedReals::kMostDocuments;
  }

  template <typename Visitor>
  static auto visit(const ForestTargets& targets, const CriterionTable& table,
                    int64_t most_documents, Visitor&& visitor) {
    if (!targets.weight.empty()) return visitor(Of<Moments>(targets, table));
    if (PackedTargets::fits(targets, most_documents)) {
      return visitor(Of<PackedTargets>(targets, table));
    }
    if (!targets.has_classes() && most_documents <= PackedReals::kMostDocuments) {
      return visitor(Of<PackedReals>(targets, table));
    }
    return visitor(Of<CountAndSum>(targets, table));
  }
};

}  // namespace rankgrove::forests
