// The near response of a query as its documents move to the left child one after the other.
//
// Example: documents of gains 3, 0 and 1 move in this order. The first k of them have the gains
//   k       0   1   2   3
//   left    0   3   3   4
//   right   4   1   1   0
// and the response after k moves is that to k documents on the left and to 3 - k on the right.
#pragma once

#include <cstdint>
#include <vector>

#include "forests/listwise/document_moves.hpp"
#include "forests/listwise/query_response.hpp"

namespace rankgrove::forests {

// It depends on which child is above.
struct Near {
  double left_above = 0.0;
  double left_below = 0.0;
  void operator+=(const Near& other) {
    left_above += other.left_above;
    left_below += other.left_below;
  }
  Near operator-(const Near& other) const {
    return {left_above - other.left_above, left_below - other.left_below};
  }
};

class NearOfFirst {
 public:
  // Takes the lines of a query with these documents in the node.
  void start(const NearLines& lines, const Subset& all);

  // Finds the responses for some order of the documents, whose gains are given.
  void find(const DocumentMoves& moves, const double* document_gain);

  // When the first k documents are on the left.
  Near operator[](int32_t k) const { return {left_above_[k], left_below_[k]}; }
  double gain(int32_t k) const { return gain_[k]; }

 private:
  enum Column { kAbovePerGain, kAboveFixed, kBelowPerGain, kColumns };

  Subset all_;
  std::vector<double> left_[kColumns];   // by the number of documents on the left
  std::vector<double> right_[kColumns];  // of the others
  std::vector<double> gain_;             // of the first k documents
  std::vector<double> left_above_, left_below_;
};

}  // namespace rankgrove::forests
