#include "trees/split_search.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
// A gain below this share of the children's scores is rounding noise.
constexpr double kNoise = 1e-12;

// Room for the candidate splits of one feature, reused by each thread.
struct Workspace {
  std::vector<int64_t> left;  // packed sums of the left child
  std::vector<int32_t> bin;
  std::vector<double> score;

  void resize(int32_t n) {
    if (static_cast<int32_t>(left.size()) >= n) return;
    left.resize(n);
    bin.resize(n);
    score.resize(n);
  }

  // Lists the splits after bins 0..n-1 and returns how many there are. One whose bin is empty parts
  // the node like the one before it and is left out, unless all are wanted.
  int32_t list_candidates(const int64_t* histogram, int32_t n, int64_t missing, bool all) {
    int64_t sum = left[0] = missing + histogram[0];
    bin[0] = 0;
    int32_t n_listed = 1;
    for (int32_t b = 1; b < n; ++b) {
      const int64_t word = histogram[b];
      sum += word;
      left[n_listed] = sum;
      bin[n_listed] = b;
      n_listed += all | (word != 0);
    }
    return n_listed;
  }
};

Workspace& workspace(int32_t n) {
  thread_local Workspace space;
  space.resize(n);
  return space;
}

struct Units {
  double gradient, hessian, l2, min_weight;
};

// The fields of a word, as conversions that vector instructions have.
RANKGROVE_INLINE double gradient_of(int64_t word) {
  return static_cast<int32_t>(static_cast<uint64_t>(word) >> kHessianBits);
}

RANKGROVE_INLINE double hessian_of(int64_t word) {
  return static_cast<int32_t>(word & kHessianMask);
}

// Scores of both children for n candidate splits; -inf where a child is too light.
RANKGROVE_SIMD void children_scores(const int64_t* left, int32_t n, int64_t total, Units units,
                                    double* score) {
  const double total_gradient = gradient_of(total);
  const double total_hessian = hessian_of(total);
  for (int32_t b = 0; b < n; ++b) {
    const double gl = gradient_of(left[b]) * units.gradient;
    const double gr = (total_gradient - gradient_of(left[b])) * units.gradient;
    const double wl = hessian_of(left[b]) * units.hessian;
    const double wr = (total_hessian - hessian_of(left[b])) * units.hessian;
    const double hl = wl + units.l2;
    const double hr = wr + units.l2;
    const double both = (gl * gl * hr + gr * gr * hl) / (hl * hr);
    score[b] = (wl >= units.min_weight) & (wr >= units.min_weight) ? both : kNone;
  }
}

// The greatest of score[b] - node_score; NaN is passed over.
RANKGROVE_SIMD double greatest_gain(const double* score, int32_t n, double node_score) {
  Lanes64 x, best = Lanes64{} + kNone;
  int32_t b = 0;
  for (; b + kLanes64 <= n; b += kLanes64) {
    load(x, score + b);
    x -= node_score;
    best = x > best ? x : best;
  }
  double greatest = kNone;
  for (int32_t v = 0; v < kLanes64; ++v) greatest = best[v] > greatest ? best[v] : greatest;
  for (; b < n; ++b) {
    const double gain = score[b] - node_score;
    greatest = gain > greatest ? gain : greatest;
  }
  return greatest;
}

double own_score(int64_t word, const Units& units) {
  const double g = gradient_field(word) * units.gradient;
  const double h = hessian_field(word) * units.hessian + units.l2;
  return h > 0.0 ? g * g / h : 0.0;
}

}  // namespace

double node_answer(double gradient, double hessian, double l2, double lower, double upper) {
  const double weight = hessian + l2;
  const double answer = weight > 0.0 ? -gradient / weight : 0.0;
  return std::clamp(answer, lower, upper);
}

struct SplitSearch::Candidates {
  int32_t feature;
  int32_t n;  // candidates: bins 0..n-1
  bool missing_left;
  int64_t missing;  // packed sum of the missing bin, part of the left child if missing_left
  const int64_t* histogram;   // the feature's bins
  const int64_t* row_counts;  // the feature's rows per bin (missing last), or null
  int64_t node_rows;
};

void SplitSearch::consider(const Candidates& c, const NodeSums& node, const PackedGradients& packed,
                           Split& best) const {
  if (c.n <= 0) return;
  Workspace& space = workspace(c.n);
  const int32_t n = space.list_candidates(c.histogram, c.n, c.missing_left ? c.missing : 0,
                                          c.row_counts || rules_.criterion);
  // A child needs some weight (one unit) even where the rules ask for none.
  double min_weight = std::max(rules_.min_child_weight, 0.5 * packed.hessian_unit);
  if (packed.counts_rows) {
    min_weight = std::max(min_weight, static_cast<double>(rules_.min_samples_leaf));
  }
  const Units units{packed.gradient_unit, packed.hessian_unit, rules_.l2, min_weight};
  children_scores(space.left.data(), n, node.total, units, space.score.data());
  if (c.row_counts) {
    int64_t rows = c.missing_left ? c.row_counts[layout_.n_bins[c.feature]] : 0;
    for (int32_t b = 0; b < c.n; ++b) {
      rows += c.row_counts[b];
      if (std::min(rows, c.node_rows - rows) < rules_.min_samples_leaf) space.score[b] = kNone;
    }
  }
  if (rules_.criterion) apply_criterion(c, node.total, packed, space.score.data());
  double node_score = rules_.criterion ? 0.0 : own_score(node.total, units);
  const int direction = rules_.monotone.empty() ? 0 : rules_.monotone[c.feature];
  const bool bounded = std::isfinite(node.lower) || std::isfinite(node.upper);
  if (direction != 0 || bounded) {
    const auto clipped_score = [&](double g, double h, double answer) {
      return -(2.0 * g * answer + (h + rules_.l2) * answer * answer);
    };
    const double g = gradient_field(node.total) * units.gradient;
    const double h = hessian_field(node.total) * units.hessian;
    node_score = clipped_score(g, h, node_answer(g, h, rules_.l2, node.lower, node.upper));
    for (int32_t b = 0; b < n; ++b) {
      if (space.score[b] == kNone) continue;
      const double gl = gradient_of(space.left[b]) * units.gradient;
      const double hl = hessian_of(space.left[b]) * units.hessian;
      const double answer_left = node_answer(gl, hl, rules_.l2, node.lower, node.upper);
      const double answer_right = node_answer(g - gl, h - hl, rules_.l2, node.lower, node.upper);
      const bool allowed = direction * (answer_right - answer_left) >= 0.0;
      space.score[b] =
          allowed ? clipped_score(gl, hl, answer_left) + clipped_score(g - gl, h - hl, answer_right)
                  : kNone;
    }
  }
  const double gain = greatest_gain(space.score.data(), n, node_score);
  if (!(gain > best.gain) || !(gain > rules_.min_gain)) return;
  int32_t first = 0;
  while (space.score[first] - node_score != gain) ++first;
  if (gain > kNoise * space.score[first]) {
    best = {gain, c.feature, space.bin[first], c.missing_left, space.left[first]};
  }
}

// Replaces the scores of all candidates that are possible by the user's gains.
void SplitSearch::apply_criterion(const Candidates& candidates, int64_t total,
                                  const PackedGradients& packed, double* score) const {
  const int32_t n = candidates.n;
  const Workspace& space = workspace(n);
  std::vector<double> gl(n), hl(n), gr(n), hr(n), gain(n);
  for (int32_t b = 0; b < n; ++b) {
    gl[b] = gradient_of(space.left[b]) * packed.gradient_unit;
    hl[b] = hessian_of(space.left[b]) * packed.hessian_unit;
    gr[b] = (gradient_of(total) - gradient_of(space.left[b])) * packed.gradient_unit;
    hr[b] = (hessian_of(total) - hessian_of(space.left[b])) * packed.hessian_unit;
  }
  rules_.criterion.evaluate(gl, hl, gr, hr, gain);
  for (int32_t b = 0; b < n; ++b) {
    if (score[b] == kNone) continue;
    if (!(gain[b] <= std::numeric_limits<double>::max())) {
      throw std::invalid_argument(
          "the split criterion " + rules_.criterion.name + " returned " + std::to_string(gain[b]) +
          " for a split of feature " + std::to_string(candidates.feature) +
          " into children with sums of gradients " + std::to_string(gl[b]) + " and " +
          std::to_string(gr[b]) + " and of Hessians " + std::to_string(hl[b]) + " and " +
          std::to_string(hr[b]) + ": a gain must be a finite number, or -inf to rule a split out");
    }
    score[b] = gain[b];
  }
}

Split SplitSearch::best_of_feature(int32_t feature, const int64_t* histogram, const NodeSums& node,
                                   const PackedGradients& packed, const int64_t* row_counts) const {
  const int32_t n_bins = layout_.n_bins[feature];
  const int64_t* bins = histogram + layout_.start[feature];
  const int64_t missing = layout_.missing[feature] ? bins[n_bins] : 0;
  int64_t node_rows = 0;
  bool some_missing = missing != 0;
  if (row_counts) {
    for (int32_t b = 0; b <= n_bins; ++b) node_rows += row_counts[b];
    some_missing = row_counts[n_bins] > 0;  // though their sums may be 0
  }
  Split best;
  const int32_t n_right = n_bins - 1 + (some_missing && can_split_missing(feature) ? 1 : 0);
  consider({feature, n_right, false, missing, bins, row_counts, node_rows}, node, packed, best);
  if (some_missing) {
    consider({feature, n_bins - 1, true, missing, bins, row_counts, node_rows}, node, packed, best);
  }
  return best;
}

double SplitSearch::node_score(int64_t total, const PackedGradients& packed) const {
  return own_score(total, {packed.gradient_unit, packed.hessian_unit, rules_.l2, 0.0});
}

void SplitSearch::add_level_scores(int32_t feature, const int64_t* histogram, int64_t total,
                                   const PackedGradients& packed, double* right_scores,
                                   double* left_scores) const {
  const int32_t n_bins = layout_.n_bins[feature];
  const int64_t* bins = histogram + layout_.start[feature];
  const int64_t missing = layout_.missing[feature] ? bins[n_bins] : 0;
  Workspace& space = workspace(n_bins);
  const Units units{packed.gradient_unit, packed.hessian_unit, rules_.l2,
                    0.5 * packed.hessian_unit};
  const double unsplit = own_score(total, units);
  for (const bool missing_left : {false, true}) {
    double* scores = missing_left ? left_scores : right_scores;
    if (!scores) continue;
    int64_t left = missing_left ? missing : 0;
    for (int32_t b = 0; b < n_bins; ++b) {
      left += bins[b];
      space.left[b] = left;
    }
    children_scores(space.left.data(), n_bins, total, units, space.score.data());
    for (int32_t b = 0; b < n_bins; ++b) {
      scores[b] += space.score[b] == kNone ? unsplit : space.score[b];
    }
  }
}

}  // namespace rankgrove
