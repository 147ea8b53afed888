// The Plackett-Luce likelihood of ground-truth permutations (Xia, Zhai and Wang, "Plackett-Luce
// Model for Learning-to-Rank Task").
//
// Vocabulary: a *permutation* pi of a query sorts its documents by label, ties at random; its first
// `k` places count. The *context* C_j of place j holds all documents but those at the places
// before j. With p(d|C) = exp(s_d) / sum over C of exp(s), the log-likelihood of a permutation is
// the sum over places of log p(pi(j)|C_j). Several permutations of a query share contexts: a
// *shared* context is stored once, with the number of permutations that have it.
//
// A query's *head* is the union of the leading documents of its permutations, all others are its
// tail: the tail belongs to every context.
#pragma once

#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "distributed/row_share.hpp"
#include "objectives/queries.hpp"

namespace rankgrove {

struct LeafStep {
  double l2;
  double largest;  // of a step, either way
};

class PlackettLuce {
 public:
  // Draws the permutations. Queries whose labels are all equal have no order to learn: unless
  // keep_equal, they get no contexts, and gradients of 0. merge = false keeps every context of
  // every permutation.
  PlackettLuce(const Queries& queries, const double* labels, int64_t k, int64_t n_permutations,
               bool merge, bool keep_equal, uint64_t seed);

  int64_t n_documents() const { return offsets_.back(); }
  // Contexts that are stored, and those that all permutations have together.
  int64_t n_contexts() const { return n_contexts_; }
  int64_t n_unmerged_contexts() const { return static_cast<int64_t>(count_.size()); }

  // Gradient of minus the log-likelihood, averaged over a query's permutations (equation 7,
  // negated). weight may be null.
  void gradients(const double* scores, const double* weight, int n_threads, float* gradients) const;

  // The same in double precision; returns minus the log-likelihood of each query, unweighted.
  std::vector<double> losses(const double* scores, int n_threads, double* gradients) const;

  // Newton step of each leaf, all documents of a leaf moving together (equation 9), from the
  // documents of all workers. leaf_of_row holds node numbers below n_nodes, negative for documents
  // in no leaf. Other nodes get 0.
  std::vector<double> leaf_values(const double* scores, const double* weight,
                                  const int32_t* leaf_of_row, int32_t n_nodes, const LeafStep& step,
                                  const RowShare& share, int n_threads) const;

 private:
  struct Scratch;
  struct QueryView;

  void draw_permutations(int64_t q, const double* labels, bool merge, bool keep_equal,
                         Random random);
  double largest_term(const double* weight, const RowShare& share) const;
  QueryView view(int64_t q) const;
  void query_gradients(const QueryView& query, const double* scores, Scratch& scratch) const;
  double query_loss(const QueryView& query, Scratch& scratch) const;
  static void find_totals(const QueryView& query, const int32_t* place, Scratch& scratch);
  void query_curvature(const QueryView& query, Scratch& scratch) const;

  int64_t k_;
  int64_t n_permutations_;
  int64_t n_contexts_ = 0;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> head_begin_;   // per query + 1, into head_ and share_
  std::vector<int64_t> place_begin_;  // per query + 1, into place_ and count_
  std::vector<int32_t> head_;         // document, counted from the query's first
  std::vector<double> share_;         // share of the permutations that have it among their places
  std::vector<int32_t> place_;        // permutation by permutation: index into the query's head
  std::vector<int32_t> count_;        // permutations with this context, 0 if stored earlier
};

}  // namespace rankgrove
