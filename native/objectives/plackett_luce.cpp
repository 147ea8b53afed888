#include "objectives/plackett_luce.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "common/fixed_point.hpp"
#include "common/random.hpp"
#include "common/simd.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

// A score this far below the best of its query counts as this far, so that no context sums to 0.
constexpr double kDeepest = 600.0;
// Flattest curvature that a leaf's step divides by.
constexpr double kLeastCurvature = 1e-10;
// Number of blocks into which queries are divided, each with sums of its own.
constexpr int64_t kBlocks = 64;
constexpr double kNanosecondsPerPlace = 5.0;  // of a document in a permutation

RANKGROVE_SIMD void scale_array(const double* x, double factor, size_t n, double* out) {
  for (size_t i = 0; i < n; ++i) out[i] = factor * x[i];
}

// curvature += count p (1 - p) with p = mass / total, for each leaf.
RANKGROVE_SIMD void add_curvature(const double* mass, double total, double count, size_t n,
                                  double* curvature) {
  const double inverse = 1.0 / total;
  for (size_t leaf = 0; leaf < n; ++leaf) {
    const double p = mass[leaf] * inverse;
    curvature[leaf] += count * (p * (1.0 - p));
  }
}

}  // namespace

struct PlackettLuce::QueryView {
  size_t n;  // documents
  size_t n_head;
  size_t depth;  // places per permutation
  const int32_t* head;
  const double* share;
  const int32_t* place;
  const int32_t* count;
};

struct PlackettLuce::Scratch {
  Scratch(size_t longest, int32_t n_nodes)
      : mass(longest),
        gradient(longest),
        head_mass(longest),
        head_weight(longest),
        in_permutation(longest),
        total(longest),
        node_slot(static_cast<size_t>(n_nodes), -1),
        slot(longest),
        leaf_mass(longest),
        context_mass(longest),
        curvature(longest) {}

  std::vector<double> mass, gradient;
  std::vector<double> head_mass, head_weight;
  std::vector<char> in_permutation;
  std::vector<double> total;
  double tail_total = 0;
  // For leaf values: leaves that own documents of the query, numbered from 0 ("slots").
  std::vector<int32_t> node_slot, slot, nodes;
  std::vector<double> leaf_mass, context_mass, curvature;
};

PlackettLuce::PlackettLuce(const Queries& queries, const double* labels, int64_t k,
                           int64_t n_permutations, bool merge, bool keep_equal, uint64_t seed)
    : k_(k),
      n_permutations_(n_permutations),
      offsets_(queries.offsets, queries.offsets + queries.count + 1),
      head_begin_{0},
      place_begin_{0} {
  for (int64_t q = 0; q < queries.count; ++q) {
    draw_permutations(q, labels + offsets_[q], merge, keep_equal, Random(seed, queries.number(q)));
    head_begin_.push_back(static_cast<int64_t>(head_.size()));
    place_begin_.push_back(static_cast<int64_t>(place_.size()));
  }
  n_contexts_ = static_cast<int64_t>(count_.size() - std::count(count_.begin(), count_.end(), 0));
}

void PlackettLuce::draw_permutations(int64_t q, const double* labels, bool merge, bool keep_equal,
                                     Random random) {
  const auto n = static_cast<size_t>(offsets_[q + 1] - offsets_[q]);
  const auto is_first = [&](double y) { return y == labels[0]; };
  if (n == 0 || (!keep_equal && std::all_of(labels, labels + n, is_first))) return;
  const size_t depth = std::min(n, static_cast<size_t>(k_));
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return labels[a] > labels[b]; });
  std::vector<size_t> group_end(n);  // of each place, where its run of equal labels ends
  for (size_t i = n; i-- > 0;) {
    const bool last = i + 1 == n || labels[order[i]] != labels[order[i + 1]];
    group_end[i] = last ? i + 1 : group_end[i + 1];
  }

  const size_t first_head = head_.size();
  const size_t first_place = place_.size();
  std::vector<int32_t> index_in_head(n, -1);
  std::vector<uint64_t> prefix_hash;  // of each stored place: the set of documents before it
  for (int64_t permutation = 0; permutation < n_permutations_; ++permutation) {
    const size_t first = place_.size();
    uint64_t hash = 0;
    for (size_t j = 0; j < depth; ++j) {
      std::swap(order[j], order[j + random.below(group_end[j] - j)]);
      const int32_t document = order[j];
      if (index_in_head[document] < 0) {
        index_in_head[document] = static_cast<int32_t>(head_.size() - first_head);
        head_.push_back(document);
        share_.push_back(0.0);
      }
      place_.push_back(index_in_head[document]);
      share_[first_head + static_cast<size_t>(place_.back())] +=
          1.0 / static_cast<double>(n_permutations_);
      count_.push_back(1);
      prefix_hash.push_back(hash);
      hash += mix64(static_cast<uint64_t>(document));
    }
    for (size_t j = 0; merge && j < depth; ++j) {
      for (size_t other = first_place; other < first; other += depth) {
        if (count_[other + j] > 0 &&
            prefix_hash[other + j - first_place] == prefix_hash[first + j - first_place] &&
            std::is_permutation(place_.begin() + static_cast<std::ptrdiff_t>(first),
                                place_.begin() + static_cast<std::ptrdiff_t>(first + j),
                                place_.begin() + static_cast<std::ptrdiff_t>(other))) {
          ++count_[other + j];
          count_[first + j] = 0;
          break;
        }
      }
    }
  }
}

PlackettLuce::QueryView PlackettLuce::view(int64_t q) const {
  const auto n = static_cast<size_t>(offsets_[q + 1] - offsets_[q]);
  return {n,
          static_cast<size_t>(head_begin_[q + 1] - head_begin_[q]),
          std::min(n, static_cast<size_t>(k_)),
          head_.data() + head_begin_[q],
          share_.data() + head_begin_[q],
          place_.data() + place_begin_[q],
          count_.data() + place_begin_[q]};
}

// total[j] = sum over the context of place j. These are suffix sums: the tail, then the head's
// documents that the permutation does not place, then the places from the last to the first.
// Nothing is ever subtracted.
void PlackettLuce::find_totals(const QueryView& query, const int32_t* place, Scratch& s) {
  std::fill_n(s.in_permutation.begin(), query.n_head, char{0});
  for (size_t j = 0; j < query.depth; ++j) s.in_permutation[place[j]] = 1;
  double total = s.tail_total;
  for (size_t h = 0; h < query.n_head; ++h) total += s.in_permutation[h] ? 0.0 : s.head_mass[h];
  for (size_t j = query.depth; j-- > 0;) s.total[j] = total += s.head_mass[place[j]];
}

// Leaves mass, head_mass, tail_total and (unweighted) gradient in the scratch.
void PlackettLuce::query_gradients(const QueryView& query, const double* scores, Scratch& s) const {
  const double best = *std::max_element(scores, scores + query.n);
  exp_array(scores, best, 1.0, query.n, s.mass.data());
  const double least = std::exp(-kDeepest);
  for (size_t d = 0; d < query.n; ++d) s.mass[d] = std::max(s.mass[d], least);
  for (size_t h = 0; h < query.n_head; ++h) {
    s.head_mass[h] = s.mass[query.head[h]];
    s.head_weight[h] = 0.0;
    s.mass[query.head[h]] = 0.0;
  }
  s.tail_total = sum_array(s.mass.data(), query.n);

  double tail_weight = 0.0;  // sum over contexts of count / total
  const double unit = 1.0 / static_cast<double>(n_permutations_);
  for (int64_t permutation = 0; permutation < n_permutations_; ++permutation) {
    const int32_t* place = query.place + static_cast<size_t>(permutation) * query.depth;
    const int32_t* count = query.count + static_cast<size_t>(permutation) * query.depth;
    find_totals(query, place, s);
    double weight = 0.0;  // of the contexts up to place j: those that hold the document at j
    for (size_t j = 0; j < query.depth; ++j) {
      if (count[j] > 0) weight += unit * count[j] / s.total[j];
      s.head_weight[place[j]] += weight;
    }
    for (size_t h = 0; h < query.n_head; ++h)
      s.head_weight[h] += s.in_permutation[h] ? 0.0 : weight;
    tail_weight += weight;
  }
  scale_array(s.mass.data(), tail_weight, query.n, s.gradient.data());
  for (size_t h = 0; h < query.n_head; ++h) {
    s.gradient[query.head[h]] = s.head_mass[h] * s.head_weight[h] - query.share[h];
  }
}

void PlackettLuce::gradients(const double* scores, const double* weight, int n_threads,
                             float* gradients) const {
  const Queries queries{offsets_.data(), static_cast<int64_t>(offsets_.size()) - 1};
  const auto longest = static_cast<size_t>(queries.longest());
  const auto make_scratch = [&] { return Scratch(longest, 0); };
  const double cost = kNanosecondsPerPlace * static_cast<double>(n_permutations_);
  for_each_query(queries, n_threads, cost, make_scratch, [&](int64_t q, Scratch& s) {
    const QueryView query = view(q);
    float* out = gradients + offsets_[q];
    if (query.n_head == 0) {
      std::fill_n(out, query.n, 0.0f);
      return;
    }
    query_gradients(query, scores + offsets_[q], s);
    const double* w = weight ? weight + offsets_[q] : nullptr;
    for (size_t d = 0; d < query.n; ++d) {
      out[d] = static_cast<float>(w ? w[d] * s.gradient[d] : s.gradient[d]);
    }
  });
}

// After query_gradients: minus the log-likelihood.
double PlackettLuce::query_loss(const QueryView& query, Scratch& s) const {
  const double unit = 1.0 / static_cast<double>(n_permutations_);
  double loss = 0.0;
  for (int64_t permutation = 0; permutation < n_permutations_; ++permutation) {
    const int32_t* place = query.place + static_cast<size_t>(permutation) * query.depth;
    const int32_t* count = query.count + static_cast<size_t>(permutation) * query.depth;
    find_totals(query, place, s);
    for (size_t j = 0; j < query.depth; ++j) {
      if (count[j] > 0) loss += unit * count[j] * std::log(s.total[j]);
    }
  }
  for (size_t h = 0; h < query.n_head; ++h) loss -= query.share[h] * std::log(s.head_mass[h]);
  return loss;
}

std::vector<double> PlackettLuce::losses(const double* scores, int n_threads,
                                         double* gradients) const {
  const Queries queries{offsets_.data(), static_cast<int64_t>(offsets_.size()) - 1};
  const auto longest = static_cast<size_t>(queries.longest());
  std::vector<double> losses(queries.count);
  const double cost = 2 * kNanosecondsPerPlace * static_cast<double>(n_permutations_);
  for_each_query(
      queries, n_threads, cost, [&] { return Scratch(longest, 0); },
      [&](int64_t q, Scratch& s) {
        const QueryView query = view(q);
        double* out = gradients + offsets_[q];
        if (query.n_head == 0) {
          std::fill_n(out, query.n, 0.0);
          return;
        }
        query_gradients(query, scores + offsets_[q], s);
        std::copy_n(s.gradient.begin(), query.n, out);
        losses[q] = query_loss(query, s);
      });
  return losses;
}

// After query_gradients, with slots set: curvature[slot] = sum over contexts of p' (1 - p'), where
// p' is the probability of the leaf in the context.
void PlackettLuce::query_curvature(const QueryView& query, Scratch& s) const {
  const size_t n_slots = s.nodes.size();
  std::fill_n(s.leaf_mass.begin(), n_slots, 0.0);
  std::fill_n(s.curvature.begin(), n_slots, 0.0);
  for (size_t d = 0; d < query.n; ++d) {
    if (s.slot[d] >= 0) s.leaf_mass[s.slot[d]] += s.mass[d];  // 0 for the head
  }
  const double unit = 1.0 / static_cast<double>(n_permutations_);
  for (int64_t permutation = 0; permutation < n_permutations_; ++permutation) {
    const int32_t* place = query.place + static_cast<size_t>(permutation) * query.depth;
    const int32_t* count = query.count + static_cast<size_t>(permutation) * query.depth;
    std::copy_n(s.leaf_mass.begin(), n_slots, s.context_mass.begin());
    double total = s.tail_total;
    const auto add = [&](int32_t h) {
      total += s.head_mass[h];
      const int32_t slot = s.slot[query.head[h]];
      if (slot >= 0) s.context_mass[slot] += s.head_mass[h];
    };
    std::fill_n(s.in_permutation.begin(), query.n_head, char{0});
    for (size_t j = 0; j < query.depth; ++j) s.in_permutation[place[j]] = 1;
    for (size_t h = 0; h < query.n_head; ++h) {
      if (!s.in_permutation[h]) add(static_cast<int32_t>(h));
    }
    for (size_t j = query.depth; j-- > 0;) {
      add(place[j]);
      if (count[j] > 0) {
        add_curvature(s.context_mass.data(), total, unit * count[j], n_slots, s.curvature.data());
      }
    }
  }
}

std::vector<double> PlackettLuce::leaf_values(const double* scores, const double* weight,
                                              const int32_t* leaf_of_row, int32_t n_nodes,
                                              const LeafStep& step, const RowShare& share,
                                              int n_threads) const {
  const Queries queries{offsets_.data(), static_cast<int64_t>(offsets_.size()) - 1};
  const auto longest = static_cast<size_t>(queries.longest());
  const auto nodes = static_cast<size_t>(n_nodes);
  const double scale = fixed_point_scale(largest_term(weight, share), share.n_rows, 62);
  std::vector<FineSum> sums(kBlocks * 2 * nodes);  // slopes, then curvatures, of each block
  const double cost = kNanosecondsPerPlace * static_cast<double>(n_permutations_) *
                      static_cast<double>(offsets_.back()) / kBlocks;
  parallel_for(kBlocks, n_threads, cost, [&](int64_t block) {
    Scratch s(longest, n_nodes);
    FineSum* slope = sums.data() + static_cast<size_t>(block) * 2 * nodes;
    FineSum* curvature = slope + nodes;
    for (int64_t q = queries.count * block / kBlocks; q < queries.count * (block + 1) / kBlocks;
         ++q) {
      const QueryView query = view(q);
      if (query.n_head == 0) continue;
      query_gradients(query, scores + offsets_[q], s);
      const int32_t* leaf = leaf_of_row + offsets_[q];
      const double* w = weight ? weight + offsets_[q] : nullptr;
      s.nodes.clear();
      for (size_t d = 0; d < query.n; ++d) {
        s.slot[d] = -1;
        if (leaf[d] < 0) continue;
        int32_t& slot = s.node_slot[leaf[d]];
        if (slot < 0) {
          slot = static_cast<int32_t>(s.nodes.size());
          s.nodes.push_back(leaf[d]);
        }
        s.slot[d] = slot;
        slope[leaf[d]].add((w ? w[d] * s.gradient[d] : s.gradient[d]) * scale);
      }
      query_curvature(query, s);
      const double query_weight =
          w ? std::accumulate(w, w + query.n, 0.0) / static_cast<double>(query.n) : 1.0;
      for (size_t slot = 0; slot < s.nodes.size(); ++slot) {
        curvature[s.nodes[slot]].add(query_weight * s.curvature[slot] * scale);
        s.node_slot[s.nodes[slot]] = -1;
      }
    }
  });
  for (size_t i = 2 * nodes; i < sums.size(); ++i) sums[i % (2 * nodes)] += sums[i];
  share.sum(&sums[0].high, 2 * 2 * nodes);
  std::vector<double> values(nodes);
  for (size_t node = 0; node < nodes; ++node) {
    const double g = sums[node].value() / scale;
    const double h = sums[nodes + node].value() / scale + step.l2;
    values[node] = std::clamp(-g / std::max(h, kLeastCurvature), -step.largest, step.largest) + 0.0;
  }
  return values;
}

// No gradient of a document, and no curvature of a query, of any worker is greater: each context
// adds at most its document's weight.
double PlackettLuce::largest_term(const double* weight, const RowShare& share) const {
  const Queries queries{offsets_.data(), static_cast<int64_t>(offsets_.size()) - 1};
  const double largest = weight && offsets_.back() > 0
                             ? *std::max_element(weight, weight + offsets_.back())
                             : (weight ? 0.0 : 1.0);
  // The bits of positive numbers are ordered like integers.
  int64_t most[] = {queries.longest(), std::bit_cast<int64_t>(largest)};
  share.maximum(most, 2);
  return static_cast<double>(std::max<int64_t>(1, std::min(most[0], k_))) *
         std::bit_cast<double>(most[1]);
}

}  // namespace rankgrove
