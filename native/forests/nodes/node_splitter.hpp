// A split of a node, and the interface of everything that finds one.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "common/random.hpp"
#include "forests/nodes/waiting_node.hpp"
#include "trees/binned_matrix.hpp"

namespace rankgrove::forests {

struct NodeSplit {
  int32_t feature = -1;
  int32_t bin = 0;  // value bins (or ranks of categories) 0..bin go left; below the missing bin
  bool missing_left = false;
  bool branch = false;  // missing values are a third child
  double gain = 0.0;    // improvement of the criterion of the whole tree

  bool found() const { return feature >= 0; }

  bool goes_left(int32_t code, int32_t missing_bin) const {
    return (code <= bin) | ((code == missing_bin) & missing_left);
  }

  // The split that parts all values from the missing ones has no cut of its own.
  float threshold(const Bins& bins) const {
    return bin + 1 < bins.n_bins(feature) ? bins.cut(feature, bin)
                                          : std::numeric_limits<float>::infinity();
  }
};

// Documents of a node, side by side: n rows, each once for every time it was drawn, or once for
// all.
struct NodeRows {
  const int32_t* rows;
  const uint8_t* labels;  // class of each, or null if targets are not classes
  int64_t n;
  const uint32_t* class_counts;  // documents of each class, or null if targets are not classes
  int64_t n_documents;
  const uint32_t* times;  // by row of the data: how many documents it is, or null if one each
  double least_gain = 0;  // a split that gains less is not wanted

  uint64_t times_of(int64_t i) const { return times ? times[rows[i]] : 1; }
};

class DocumentBits;

template <typename Code>
class NodeSplitter {
 public:
  virtual ~NodeSplitter() = default;
  // The best split of a node, if any gains enough.
  virtual NodeSplit find(const NodeRows& documents, const WaitingNode& node, Random& random) = 0;
  // Codes of the feature of the split that was found last, for the documents of that node.
  virtual const Code* split_codes() const = 0;
  // If that feature is categorical, these codes are ranks: the categories by their ranks.
  virtual std::span<const int32_t> split_categories() const = 0;
  // Whether it finds the same split in documents that are bits of a word, if there is no
  // categorical feature: of their node with these numbers of documents of each class.
  virtual bool reads_bits() const { return false; }
  virtual NodeSplit find(const DocumentBits&, const uint32_t* /*class_counts*/, Random&) {
    return {};
  }
};

}  // namespace rankgrove::forests
