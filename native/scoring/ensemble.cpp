#include "scoring/ensemble.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace rankgrove {

namespace {

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

void require_length(size_t actual, size_t expected, const char* name) {
  if (actual != expected) {
    fail(std::string(name) + " has " + std::to_string(actual) + " entries instead of " +
         std::to_string(expected));
  }
}

// Sets of categories: where they begin and end, and which nodes have one.
void check_sets(const EnsembleArrays& e) {
  if (e.set_of_node.empty() && e.set_offsets.empty() && e.set_words.empty()) return;
  require_length(e.set_of_node.size(), e.feature.size(), "the sets of nodes");
  if (e.set_offsets.empty() || e.set_offsets[0] != 0 ||
      e.set_offsets.back() != static_cast<int64_t>(e.set_words.size())) {
    fail("the sets of categories do not begin at 0, or do not end with their words");
  }
  for (size_t s = 0; s + 1 < e.set_offsets.size(); ++s) {
    const int64_t n_words = e.set_offsets[s + 1] - e.set_offsets[s];
    if (n_words < 0 || n_words > kMostCategories / 32) {
      fail("set " + std::to_string(s) + " of categories has " + std::to_string(n_words) + " words");
    }
  }
  std::vector<int8_t> kinds(e.n_features, -1);  // of features: whether their splits have sets
  for (size_t i = 0; i < e.feature.size(); ++i) {
    const int32_t set = e.set_of_node[i];
    const int32_t feature = e.feature[i];
    const std::string node = "node " + std::to_string(i);
    if (set < -1 || set + int64_t{1} >= std::ssize(e.set_offsets) || (set >= 0 && feature < 0)) {
      fail(node + " has the set " + std::to_string(set) + " of categories, of " +
           std::to_string(e.set_offsets.size() - 1));
    }
    if (feature < 0 || feature >= e.n_features) continue;  // refused elsewhere if it is no leaf
    if (kinds[feature] == (set < 0)) {
      fail(node + ": some splits of feature " + std::to_string(feature) +
           " have a set of categories, and some a threshold");
    }
    kinds[feature] = set >= 0;
  }
}

void check_header(const EnsembleArrays& e) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  if (e.n_features < 0 || e.n_features > limit) {
    fail("n_features is " + std::to_string(e.n_features));
  }
  if (e.base_score.empty()) fail("base_score is empty: a model has at least one output");
  if (e.tree_offsets.empty()) fail("tree_offsets is empty: it must start with 0");
  const size_t n_trees = e.tree_offsets.size() - 1;
  const size_t n_nodes = e.feature.size();
  if (n_trees > static_cast<size_t>(limit)) fail("there are too many trees");
  require_length(e.tree_weights.size(), n_trees, "tree_weights");
  require_length(e.tree_outputs.size(), n_trees, "tree_outputs");
  require_length(e.threshold.size(), n_nodes, "threshold");
  require_length(e.left.size(), n_nodes, "left");
  require_length(e.missing_left.size(), n_nodes, "missing_left");
  require_length(e.value.size(), n_nodes, "value");
  check_sets(e);
  for (double base : e.base_score) {
    if (!std::isfinite(base)) fail("base_score " + std::to_string(base) + " is not finite");
  }
  if (e.tree_offsets[0] != 0) fail("tree_offsets does not start with 0");
  for (size_t t = 0; t < n_trees; ++t) {
    const int64_t size = e.tree_offsets[t + 1] - e.tree_offsets[t];
    if (e.tree_offsets[t + 1] <= e.tree_offsets[t] || size > limit ||
        e.tree_offsets[t + 1] > static_cast<int64_t>(n_nodes)) {
      fail("tree " + std::to_string(t) + " ends at node " + std::to_string(e.tree_offsets[t + 1]) +
           " but starts at " + std::to_string(e.tree_offsets[t]));
    }
    if (!std::isfinite(e.tree_weights[t])) {
      fail("the weight of tree " + std::to_string(t) + " is not finite");
    }
    if (e.tree_outputs[t] < 0 || e.tree_outputs[t] >= e.n_outputs()) {
      fail("tree " + std::to_string(t) + " adds to output " + std::to_string(e.tree_outputs[t]) +
           " of " + std::to_string(e.n_outputs()));
    }
  }
  if (e.tree_offsets[n_trees] != static_cast<int64_t>(n_nodes)) {
    fail("tree_offsets ends at " + std::to_string(e.tree_offsets[n_trees]) + " but there are " +
         std::to_string(n_nodes) + " nodes");
  }
}

void check_tree(const EnsembleArrays& e, int32_t tree, std::vector<uint8_t>& has_parent) {
  const int64_t begin = e.tree_offsets[tree];
  const int64_t size = e.tree_offsets[tree + 1] - begin;
  has_parent.assign(static_cast<size_t>(size), 0);
  has_parent[0] = 1;
  const auto where = [&](int64_t i) {
    return "node " + std::to_string(i) + " of tree " + std::to_string(tree);
  };
  for (int64_t i = 0; i < size; ++i) {
    const int64_t node = begin + i;
    const int64_t left = e.left[node];
    if (!has_parent[i]) fail(where(i) + " has no parent before it");
    if (!std::isfinite(e.value[node])) {
      fail(where(i) + " has the value " + std::to_string(e.value[node]));
    }
    if (left < 0) {
      if (left != -1 || e.feature[node] != -1) {
        fail(where(i) + " is neither a leaf nor a split (left " + std::to_string(left) +
             ", feature " + std::to_string(e.feature[node]) + ")");
      }
      if (!std::isfinite(e.value[node] * e.tree_weights[tree])) {
        fail(where(i) + " has the value " + std::to_string(e.value[node]) + " times weight " +
             std::to_string(e.tree_weights[tree]));
      }
      continue;
    }
    if (left <= i || left + 1 >= size) {
      fail(where(i) + " has its left child at " + std::to_string(left) + " of " +
           std::to_string(size) + " nodes");
    }
    if (has_parent[left] || has_parent[left + 1]) {
      fail(where(i) + " shares its children with another node");
    }
    has_parent[left] = has_parent[left + 1] = 1;
    if (e.feature[node] < 0 || e.feature[node] >= e.n_features) {
      fail(where(i) + " splits on feature " + std::to_string(e.feature[node]) + " of " +
           std::to_string(e.n_features));
    }
    if (!(e.threshold[node] > -std::numeric_limits<float>::infinity())) {
      fail(where(i) + " has the threshold " + std::to_string(e.threshold[node]));
    }
    if (e.missing_left[node] > 1) {
      fail(where(i) + " has missing_left " + std::to_string(e.missing_left[node]));
    }
  }
}

}  // namespace

void check_ensemble(const EnsembleArrays& ensemble) {
  check_header(ensemble);
  std::vector<uint8_t> has_parent;
  for (int32_t tree = 0; tree < ensemble.n_trees(); ++tree) {
    check_tree(ensemble, tree, has_parent);
  }
}

}  // namespace rankgrove
