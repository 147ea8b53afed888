// A node's documents, feature by feature, with the nodes below it as sets of bits. The codes are
// not moved while nodes are split, and one instruction compares 32 documents.
//
// Example: documents 0 to 3 have the codes 7 2 9 2 of a feature and the classes 0 1 1 1. The node
// with the documents 0, 1 and 3 is the word 1011 (in binary, the first document last). Its codes
// lie between 2 and 7. The split "code <= 2" sends 1010 & 1011 = 1010 left and 0001 right; class 1
// is the word 1110, so that the left child has popcount(1110 & 1010) = 2 documents of it.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "forests/criteria/count_classes.hpp"
#include "forests/data/forest_features.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

class DocumentBits {
 public:
  using Counts = std::array<uint32_t, kFewClasses>;

  // Whether the processor can do it. (Nodes are split to the same bits without.)
  static bool available();

  DocumentBits(const ForestFeatures& features, int32_t n_classes, int64_t most_documents);

  int64_t most_documents() const { return most_documents_; }
  int64_t n_words() const { return n_words_; }  // of a set
  int64_t n_members() const { return n_members_; }

  // Copies the codes of n rows and their classes.
  void assign(const int32_t* rows, const uint8_t* labels, int64_t n);
  // Writes the set of all.
  void put_all(uint64_t* set) const;

  // Begins a node with a set of n documents, to which the functions below refer.
  void start(const uint64_t* set, int64_t n);

  // Smallest and largest code of a feature.
  std::pair<int32_t, int32_t> range(int32_t feature) const;
  // The largest code of a feature that is no missing value; there is one.
  int32_t largest_value(int32_t feature) const;
  bool some_missing(int32_t feature) const;

  // How many documents a split sends left, of each class.
  void count_left(const NodeSplit& split, Counts& counts) const;
  // Writes the sets that it sends left and right.
  void part(const NodeSplit& split, uint64_t* left, uint64_t* right) const;

  // Appends the rows of a set and their labels, in the order in which they came.
  void list(const uint64_t* set, std::vector<int32_t>& rows, std::vector<uint8_t>& labels) const;

 private:
  const uint8_t* codes_of(int32_t feature) const { return codes_.data() + feature * stride_; }
  uint8_t last_value(int32_t feature) const {
    return static_cast<uint8_t>(binned_.n_bins(feature) - 1);
  }
  // Members of a word of documents that a split sends left.
  uint64_t left_of_word(const NodeSplit& split, int64_t w) const;

  const BinnedMatrix& binned_;
  const uint8_t* row_codes_;
  int32_t n_classes_;
  int64_t most_documents_;
  int64_t stride_;  // of features in codes_
  int64_t n_words_ = 0;
  int64_t n_documents_ = 0;
  const int32_t* rows_ = nullptr;
  const uint8_t* labels_ = nullptr;
  LargeVector<uint8_t> codes_;
  std::vector<uint64_t> classes_;   // the set of each class, n_words_ each
  std::vector<uint64_t> members_;   // of the node at hand
  std::vector<uint8_t> strangers_;  // of all documents: 0 for a member, else 255
  int64_t n_members_ = 0;
};

}  // namespace rankgrove::forests
