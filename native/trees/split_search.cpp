#include "trees/split_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "common/category_bits.hpp"
#include "common/simd.hpp"
#include "trees/rough_scores.hpp"

namespace rankgrove {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
// A gain below this share of the children's scores is rounding noise.
constexpr double kNoise = 1e-12;

struct Units {
  double gradient, hessian, l1, l2, min_weight;
};

// A sum of gradients, drawn towards 0 by l1.
RANKGROVE_INLINE double shrunken(double gradient, double l1) {
  const double size = std::abs(gradient) - l1;
  return size > 0.0 ? std::copysign(size, gradient) : 0.0;
}

// The fields of a word, as conversions that vector instructions have.
RANKGROVE_INLINE double gradient_of(int64_t word) {
  return static_cast<int32_t>(static_cast<uint64_t>(word) >> kHessianBits);
}

RANKGROVE_INLINE double hessian_of(int64_t word) {
  return static_cast<int32_t>(word & kHessianMask);
}

// Scores of both children for n candidate splits; -inf where a child is too light.
template <bool kL1>
RANKGROVE_INLINE void children_scores_impl(const int64_t* left, int32_t n, int64_t total,
                                           Units units, double* score) {
  const double total_gradient = gradient_of(total);
  const double total_hessian = hessian_of(total);
  for (int32_t b = 0; b < n; ++b) {
    double gl = gradient_of(left[b]) * units.gradient;
    double gr = (total_gradient - gradient_of(left[b])) * units.gradient;
    if constexpr (kL1) {
      gl = shrunken(gl, units.l1);
      gr = shrunken(gr, units.l1);
    }
    const double wl = hessian_of(left[b]) * units.hessian;
    const double wr = (total_hessian - hessian_of(left[b])) * units.hessian;
    const double hl = wl + units.l2;
    const double hr = wr + units.l2;
    const double both = (gl * gl * hr + gr * gr * hl) / (hl * hr);
    score[b] = (wl >= units.min_weight) & (wr >= units.min_weight) ? both : kNone;
  }
}

RANKGROVE_SIMD void plain_scores(const int64_t* left, int32_t n, int64_t total, Units units,
                                 double* score) {
  children_scores_impl<false>(left, n, total, units, score);
}

RANKGROVE_SIMD void shrunken_scores(const int64_t* left, int32_t n, int64_t total, Units units,
                                    double* score) {
  children_scores_impl<true>(left, n, total, units, score);
}

void children_scores(const int64_t* left, int32_t n, int64_t total, const Units& units,
                     double* score) {
  (units.l1 > 0.0 ? shrunken_scores : plain_scores)(left, n, total, units, score);
}

// The greatest of score[b] - node_score; NaN is ignored.
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

// The rough scores of the splits of a feature.
struct RoughResult {
  int32_t n;       // splits, or bins that are listed
  bool listed;     // only the occupied bins are scored
  float greatest;  // rough score
  double bound;    // no exact score is above it
};

// Candidate splits of one feature, in buffers that each thread reuses.
struct Workspace {
  std::vector<int64_t> occupied;  // bins that are listed
  std::vector<int64_t> left;      // packed sums of the left child
  std::vector<int32_t> bin;
  std::vector<double> score;
  std::vector<float> rough, rough_of_block;

  void resize(int32_t n) {
    if (std::ssize(left) >= n) return;
    rough_of_block.resize(n_rough_blocks(n));
    rough.resize(rough_of_block.size() * kRoughBlock);
    occupied.resize(rough.size());
    left.resize(rough.size());
    bin.resize(rough.size());
    score.resize(rough.size());
  }

  // Lists the splits after bins 0..n-1.
  int32_t list_all(const int64_t* histogram, int32_t n, int64_t missing) {
    int64_t sum = missing;
    for (int32_t b = 0; b < n; ++b) {
      left[b] = sum += histogram[b];
      bin[b] = b;
    }
    return n;
  }

  // Scores them roughly by kScores, one of the functions of rough_scores.hpp. At most
  // `n_rows` bins can be occupied.
  template <auto kScores>
  RoughResult score_roughly(const int64_t* histogram, int32_t n, int64_t missing, int64_t total,
                            int64_t n_rows, const Units& units) {
    const double min_hessian = std::min(std::ceil(units.min_weight / units.hessian), 0x1p30);
    const RoughUnits rough_units{static_cast<float>(units.l2 / units.hessian),
                                 static_cast<int32_t>(min_hessian)};
    const bool listed = n_rows < n && can_list_occupied();
    if (listed) n = list_occupied(histogram, n, bin.data(), occupied.data());
    const float greatest = kScores(listed ? occupied.data() : histogram, n, missing, total,
                                   rough_units, {left.data(), rough.data(), rough_of_block.data()});
    const double unit = units.gradient * units.gradient / units.hessian;
    const double bound = greatest > 0.0f ? greatest * unit * (1.0 + 2 * kRoughError) : kNone;
    return {n, listed, greatest, bound};
  }

  // Lists those that may be best by their rough scores, and returns their number. (A split after an
  // empty bin divides the node like the split before it.) The scored bins begin at `first_bin`.
  int32_t list_promising(const RoughResult& result, int32_t first_bin) {
    const auto enough = static_cast<float>(result.greatest * (1.0 - 4 * kRoughError));
    int32_t n_listed = 0;
    for (int32_t block = 0; block < n_rough_blocks(result.n); ++block) {
      if (rough_of_block[block] < enough) continue;
      for (int32_t b = block * kRoughBlock; b < (block + 1) * kRoughBlock; ++b) {
        if (rough[b] < enough || (n_listed > 0 && left[b] == left[n_listed - 1])) continue;
        left[n_listed] = left[b];
        bin[n_listed++] = first_bin + (result.listed ? bin[b] : b);
      }
    }
    return n_listed;
  }
};

Workspace& workspace(int32_t n) {
  thread_local Workspace space;
  space.resize(n);
  return space;
}

double own_score(const GradientSums& sums, const Units& units) {
  double g = static_cast<double>(sums.gradient) * units.gradient;
  if (units.l1 > 0.0) g = shrunken(g, units.l1);
  const double h = static_cast<double>(sums.hessian) * units.hessian + units.l2;
  return h > 0.0 ? g * g / h : 0.0;
}

double own_score(int64_t word, const Units& units) { return own_score(unpacked(word), units); }

// Rules out the splits after bins 0..n-1 that leave a child fewer than `least` rows. `rows` are
// those that go left with any of them.
void rule_out_small(int64_t rows, const int64_t* counts, int32_t n, int64_t node_rows,
                    int64_t least, double* score) {
  for (int32_t b = 0; b < n; ++b) {
    rows += counts[b];
    if (std::min(rows, node_rows - rows) < least) score[b] = kNone;
  }
}

}  // namespace

double node_answer(double gradient, double hessian, const SplitRules& rules, double lower,
                   double upper) {
  if (rules.l1 > 0.0) gradient = shrunken(gradient, rules.l1);
  const double weight = hessian + rules.l2;
  const double answer = weight > 0.0 ? -gradient / weight : 0.0;
  return std::clamp(answer, lower, upper);
}

struct SplitSearch::Candidates : PrefixBins {
  int64_t total;  // packed sums of the node
  int32_t feature;
  bool missing_left;
  int64_t first = 0;  // number of the first candidate of the feature
  double gained = 0;  // by parting missing values before: see consider_branch
};

// A child needs some weight (one unit) even where the rules ask for none.
double SplitSearch::least_weight(const GradientUnits& packed) const {
  const double least = std::max(rules_.min_child_weight, 0.5 * packed.hessian_unit);
  return packed.counts_rows ? std::max(least, static_cast<double>(rules_.min_samples_leaf)) : least;
}

// Whether rough scores tell which splits of a feature may be best: nothing else decides.
bool SplitSearch::scores_decide(int32_t feature, const NodeSums& node, const GradientUnits& packed,
                                double more_l2) const {
  const int direction = rules_.monotone.empty() ? 0 : rules_.monotone[feature];
  const bool bounded = std::isfinite(node.lower) || std::isfinite(node.upper);
  return !rules_.criterion && direction == 0 && !bounded && !node.noise && rules_.l1 == 0.0 &&
         rules_.l2 + more_l2 <= kMostRoughL2 * packed.hessian_unit;
}

// The candidates [begin, end) that leave both children enough rows. (The rows on the left increase
// with the number of bins on the left.)
std::pair<int32_t, int32_t> SplitSearch::with_enough_rows(const Candidates& c) const {
  int64_t rows = c.missing_left ? c.missing_rows : 0;
  int32_t begin = 0;
  for (; begin < c.n; ++begin) {
    rows += c.row_counts[begin];
    if (rows >= rules_.min_samples_leaf) break;
  }
  int32_t end = begin;
  while (end < c.n && c.node_rows - rows >= rules_.min_samples_leaf) {
    if (++end < c.n) rows += c.row_counts[end];
  }
  return {begin, end};
}

void SplitSearch::consider(const Candidates& c, const NodeSums& node, const GradientUnits& packed,
                           Split& best) const {
  if (c.n <= 0) return;
  Workspace& space = workspace(c.n);
  const int64_t missing = c.missing_left ? c.missing : 0;
  const Units own{packed.gradient_unit, packed.hessian_unit, rules_.l1, rules_.l2,
                  least_weight(packed)};
  Units units = own;
  units.l2 += c.more_l2;
  const int direction = rules_.monotone.empty() ? 0 : rules_.monotone[c.feature];
  const bool bounded = std::isfinite(node.lower) || std::isfinite(node.upper);
  double node_score = rules_.criterion ? 0.0 : own_score(c.total, own) - c.gained;
  const bool rough = !c.penalties && scores_decide(c.feature, node, packed, c.more_l2);
  int32_t n = 0;
  if (rough) {
    const auto [begin, end] = c.row_counts ? with_enough_rows(c) : std::pair(0, c.n);
    const int64_t before = std::accumulate(c.bins, c.bins + begin, missing);
    const RoughResult result = space.score_roughly<rough_scores>(
        c.bins + begin, end - begin, before, c.total, node.n_rows, units);
    if (result.bound == kNone || result.bound < node_score + best.gain) return;
    n = space.list_promising(result, begin);
  } else {
    n = space.list_all(c.bins, c.n, missing);
  }
  children_scores(space.left.data(), n, c.total, units, space.score.data());
  if (c.row_counts && !rough) {
    rule_out_small(c.missing_left ? c.missing_rows : 0, c.row_counts, c.n, c.node_rows,
                   rules_.min_samples_leaf, space.score.data());
  }
  if (rules_.criterion) apply_criterion(c, packed, space.score.data());
  if (direction != 0 || bounded) {
    const auto clipped_score = [&](double g, double h, double answer) {
      const double penalty = rules_.l1 > 0.0 ? 2.0 * rules_.l1 * std::abs(answer) : 0.0;
      return -(2.0 * g * answer + (h + rules_.l2) * answer * answer + penalty);
    };
    const double g = gradient_field(c.total) * units.gradient;
    const double h = hessian_field(c.total) * units.hessian;
    node_score = clipped_score(g, h, node_answer(g, h, rules_, node.lower, node.upper));
    for (int32_t b = 0; b < n; ++b) {
      if (space.score[b] == kNone) continue;
      const double gl = gradient_of(space.left[b]) * units.gradient;
      const double hl = hessian_of(space.left[b]) * units.hessian;
      const double hr = h - hl + c.more_l2;
      const double answer_left = node_answer(gl, hl + c.more_l2, rules_, node.lower, node.upper);
      const double answer_right = node_answer(g - gl, hr, rules_, node.lower, node.upper);
      const bool allowed = direction * (answer_right - answer_left) >= 0.0;
      space.score[b] = allowed ? clipped_score(gl, hl + c.more_l2, answer_left) +
                                     clipped_score(g - gl, hr, answer_right)
                               : kNone;
    }
  }
  if (c.penalties && !rules_.criterion) {
    for (int32_t b = 0; b < n; ++b) space.score[b] -= c.penalties[b];
  }
  if (node.noise) return choose_preferred(c, node.noise, node_score, best);
  const double gain = greatest_gain(space.score.data(), n, node_score);
  if (!(gain > best.gain) || !(gain > rules_.min_gain)) return;
  int32_t first = 0;
  while (space.score[first] - node_score != gain) ++first;
  if (gain > kNoise * space.score[first]) {
    best = {gain, {c.feature, space.bin[first], c.missing_left}, unpacked(space.left[first])};
  }
}

// The same where scores have noise: of the candidates that gain enough, the one that is preferred.
void SplitSearch::choose_preferred(const Candidates& c, const SplitNoise& noise, double node_score,
                                   Split& best) const {
  const Workspace& space = workspace(c.n);
  for (int32_t b = 0; b < c.n; ++b) {
    const double gain = space.score[b] - node_score;
    if (!(gain > rules_.min_gain) || !(gain > kNoise * space.score[b])) continue;
    const double preference =
        noise.preference(space.score[b], c.feature, 2 * (c.first + b) + (c.missing_left ? 1 : 0));
    if (preference > best.preference) {
      best = {gain, {c.feature, b, c.missing_left}, unpacked(space.left[b]), preference};
    }
  }
}

// Replaces the scores of all candidates that are possible by the user's gains.
void SplitSearch::apply_criterion(const Candidates& candidates, const GradientUnits& packed,
                                  double* score) const {
  const int32_t n = candidates.n;
  const int64_t total = candidates.total;
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

// Whether missing values can be a child of their own, and the others another one.
bool SplitSearch::may_branch(const Candidates& c, const GradientUnits& packed) const {
  if (!can_split_missing(c.feature)) return false;
  if (c.row_counts &&
      std::min(c.missing_rows, c.node_rows - c.missing_rows) < rules_.min_samples_leaf) {
    return false;
  }
  const double least = least_weight(packed);
  return hessian_field(c.missing) * packed.hessian_unit >= least &&
         hessian_field(c.total - c.missing) * packed.hessian_unit >= least;
}

// The split that separates missing values from all others or, if it gains more, a split into three,
// which also splits the others. With S the score of a set of rows, three children gain
//   S(below) + S(above) + S(missing) - S(node)
//     = [S(values) + S(missing) - S(node)] + [S(below) + S(above) - S(values)].
void SplitSearch::consider_branch(const Candidates& c, const NodeSums& node,
                                  const GradientUnits& packed, Split& best) const {
  const Units units{packed.gradient_unit, packed.hessian_unit, rules_.l1, rules_.l2, 0.0};
  Candidates of_values = c;
  of_values.total = c.total - c.missing;
  const double score = own_score(of_values.total, units) + own_score(c.missing, units);
  const double gained = score - own_score(c.total, units);
  if (gained > rules_.min_gain && gained > kNoise * score) {
    best = {gained, {c.feature, layout_.n_bins[c.feature] - 1, false}, unpacked(of_values.total)};
  }
  of_values.gained = gained;
  of_values.node_rows -= c.missing_rows;
  Split three = best;
  consider(of_values, node, packed, three);
  if (three.gain > best.gain) {
    best = three;
    best.branch = true;
    best.values = unpacked(of_values.total);
  }
}

double SplitSearch::gain_bound(int32_t feature, const NodeBins& node_bins,
                               const NodeSums& node) const {
  const auto& [bins, total, units, row_counts] = node_bins;
  const int32_t n_bins = layout_.n_bins[feature];
  const int64_t missing = layout_.missing[feature] ? bins[n_bins] : 0;
  const Units own{units->gradient_unit, units->hessian_unit, rules_.l1, rules_.l2,
                  least_weight(*units)};
  Workspace& space = workspace(n_bins);
  const auto bound = [&](int32_t n, int64_t left) {
    if (n <= 0) return kNone;
    return space.score_roughly<greatest_rough_score>(bins, n, left, total, node.n_rows, own).bound;
  };
  double score = bound(n_bins - 1 + (missing != 0 && can_split_missing(feature) ? 1 : 0), 0);
  if (missing != 0) score = std::max(score, bound(n_bins - 1, missing));
  return score - own_score(total, own);
}

bool SplitSearch::can_bound(int32_t feature, const NodeSums& node,
                            const GradientUnits& packed) const {
  return !bins_.is_categorical(feature) && !rules_.missing_branch &&
         scores_decide(feature, node, packed, 0.0);
}

Split SplitSearch::best_of_feature(int32_t feature, const NodeBins& node_bins,
                                   const NodeSums& node) const {
  if (bins_.is_categorical(feature)) return best_of_categories(feature, node_bins, node);
  const auto& [bins, total, units, row_counts] = node_bins;
  const GradientUnits& packed = *units;
  const int32_t n_bins = layout_.n_bins[feature];
  const int64_t missing = layout_.missing[feature] ? bins[n_bins] : 0;
  int64_t node_rows = 0, missing_rows = 0;
  bool some_missing = missing != 0;
  if (row_counts) {
    for (int32_t b = 0; b <= n_bins; ++b) node_rows += row_counts[b];
    missing_rows = row_counts[n_bins];
    some_missing = missing_rows > 0;  // though their sums may be 0
  }
  Split best;
  const int32_t n_right = n_bins - 1 + (some_missing && can_split_missing(feature) ? 1 : 0);
  PrefixBins prefixes{bins, row_counts, n_right, missing, missing_rows, node_rows, 0.0};
  if (rules_.missing_branch && some_missing) {
    PrefixBins of_values = prefixes;
    of_values.n = n_bins - 1;
    const Candidates three{of_values, total, feature, false};
    if (may_branch(three, packed)) {
      consider_branch(three, node, packed, best);
      return best;
    }
  }
  consider({prefixes, total, feature, false}, node, packed, best);
  if (some_missing) {
    prefixes.n = n_bins - 1;
    consider({prefixes, total, feature, true}, node, packed, best);
  }
  return best;
}

Split SplitSearch::best_of_categories(int32_t feature, const NodeBins& node_bins,
                                      const NodeSums& node) const {
  const auto& [bins, total, units, row_counts] = node_bins;
  const GradientUnits& packed = *units;
  const int32_t n_bins = layout_.n_bins[feature];
  const bool some_missing = row_counts ? row_counts[n_bins] > 0 : bins[n_bins] != 0;
  CategoryRuns runs = category_runs({bins, static_cast<size_t>(n_bins)}, row_counts, total,
                                    node.n_rows, packed, rules_.categories);
  if (some_missing) runs.lists.push_back({});  // missing values against all others
  Split best;
  const std::vector<int32_t>* best_list = nullptr;
  int64_t n_before = 0;  // candidates
  for (const std::vector<int32_t>& list : runs.lists) {
    const ListedBins listed(list, bins, row_counts, n_bins, list.empty() ? 0.0 : runs.l2,
                            runs.penalties_of(list));
    const int32_t kept = std::exchange(best.rule.bin, -1);
    for (const bool missing_left : {false, true}) {
      if (missing_left ? !some_missing : list.empty()) continue;
      consider({listed.prefixes(), total, feature, missing_left, n_before}, node, packed, best);
    }
    n_before += std::ssize(list) + 1;
    if (best.rule.bin < 0) {
      best.rule.bin = kept;
    } else {
      best_list = &list;
    }
  }
  if (best.found()) {
    best.rule.categories = std::make_shared<const std::vector<uint32_t>>(
        category_words(std::span(*best_list).first(best_list->empty() ? 0 : best.rule.bin + 1)));
  }
  return best;
}

double SplitSearch::node_score(const GradientSums& total, const GradientUnits& packed) const {
  return own_score(total, {packed.gradient_unit, packed.hessian_unit, rules_.l1, rules_.l2, 0.0});
}

void SplitSearch::add_level_scores(int32_t feature, const NodeBins& node_bins, double* right_scores,
                                   double* left_scores) const {
  const auto& [bins, total, units, row_counts] = node_bins;
  const int32_t n_bins = layout_.n_bins[feature];
  const int64_t missing = layout_.missing[feature] ? bins[n_bins] : 0;
  const int64_t missing_rows = row_counts && layout_.missing[feature] ? row_counts[n_bins] : 0;
  const int64_t node_rows =
      row_counts ? std::accumulate(row_counts, row_counts + n_bins, missing_rows) : 0;
  add_prefix_scores({bins, row_counts, n_bins, missing, missing_rows, node_rows, 0.0}, total,
                    *units, right_scores, left_scores);
}

void SplitSearch::add_prefix_scores(const PrefixBins& prefixes, int64_t total,
                                    const GradientUnits& packed, double* right_scores,
                                    double* left_scores) const {
  const int32_t n = prefixes.n;
  Workspace& space = workspace(n);
  const Units units{packed.gradient_unit, packed.hessian_unit, rules_.l1,
                    rules_.l2 + prefixes.more_l2, least_weight(packed)};
  const double unsplit = node_score(unpacked(total), packed);
  for (const bool missing_left : {false, true}) {
    double* scores = missing_left ? left_scores : right_scores;
    if (!scores) continue;
    int64_t left = missing_left ? prefixes.missing : 0;
    for (int32_t b = 0; b < n; ++b) {
      left += prefixes.bins[b];
      space.left[b] = left;
    }
    children_scores(space.left.data(), n, total, units, space.score.data());
    if (prefixes.row_counts) {
      rule_out_small(missing_left ? prefixes.missing_rows : 0, prefixes.row_counts, n,
                     prefixes.node_rows, rules_.min_samples_leaf, space.score.data());
    }
    for (int32_t b = 0; b < n; ++b) {
      scores[b] += space.score[b] == kNone ? unsplit : space.score[b];
    }
  }
}

}  // namespace rankgrove
