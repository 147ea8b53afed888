#include "objectives/pair_logit.hpp"

#include <algorithm>
#include <vector>

#include "common/simd.hpp"
#include "objectives/array_math.hpp"

namespace rankgrove {
namespace {

constexpr size_t kPairChunk = 1024;  // documents whose terms are summed in single precision
constexpr int64_t kBlock = 128;      // documents that a thread takes at once
constexpr double kNanosecondsPerTerm = 0.5;
// Widest range of scores in a query for which exp(s_j - s_i) may be a quotient of two floats.
constexpr double kQuotientRange = 80.0;

struct Sums {
  float gradient = 0;
  float hessian = 0;
};

// Adds up documents j in [begin, end) against one document i, whose label is `label`:
// e_j = decay_j * scale = exp(s_j - s_i), weight = |label - label_j|^power for the power 0 or 1,
// else pair_weight_j. kBetter: the documents j are better than i.
template <bool kBetter, int kPower>
RANKGROVE_INLINE void add_terms(const float* decay, float scale, const float* label_of, float label,
                                const float* pair_weight, size_t begin, size_t end, Sums* sums) {
  Lanes gradient = {}, hessian = {};
  const auto term = [&](const Lanes& decays, const Lanes& labels, const Lanes& given, Lanes& g,
                        Lanes& h) __attribute__((always_inline)) {
    const Lanes e = decays * scale;
    const Lanes q = 1.0f / (1.0f + e);
    Lanes rho = kBetter ? q : e * q;
    Lanes bend = e * (q * q);
    if constexpr (kPower != 0) {
      const Lanes w = kPower == 1 ? (kBetter ? labels - label : label - labels) : given;
      rho *= w;
      bend *= w;
    }
    g = rho;
    h = bend;
  };
  Lanes d = {}, y = {}, w = {}, g, h;
  size_t j = begin;
  for (; j + kLanes <= end; j += kLanes) {
    load(d, decay + j);
    if constexpr (kPower == 1) load(y, label_of + j);
    if constexpr (kPower == 2) load(w, pair_weight + j);
    term(d, y, w, g, h);
    gradient += g;
    hessian += h;
  }
  Sums rest;
  if (j < end) {  // the last lanes are filled with the last document and left out of the sum
    for (int lane = 0; lane < kLanes; ++lane) {
      const size_t at = std::min(j + static_cast<size_t>(lane), end - 1);
      d[lane] = decay[at];
      if constexpr (kPower == 1) y[lane] = label_of[at];
      if constexpr (kPower == 2) w[lane] = pair_weight[at];
    }
    term(d, y, w, g, h);
    for (size_t lane = 0; lane < end - j; ++lane) {
      rest.gradient += g[lane];
      rest.hessian += h[lane];
    }
  }
  sums->gradient = sum_lanes(gradient) + rest.gradient;
  sums->hessian = sum_lanes(hessian) + rest.hessian;
}

#define RANKGROVE_TERMS(name, better, power)                                                    \
  RANKGROVE_SIMD void name(const float* decay, float scale, const float* label_of, float label, \
                           const float* pair_weight, size_t begin, size_t end, Sums* sums) {    \
    add_terms<better, power>(decay, scale, label_of, label, pair_weight, begin, end, sums);     \
  }
RANKGROVE_TERMS(better_equally, true, 0)
RANKGROVE_TERMS(worse_equally, false, 0)
RANKGROVE_TERMS(better_by_difference, true, 1)
RANKGROVE_TERMS(worse_by_difference, false, 1)
RANKGROVE_TERMS(better_as_given, true, 2)
RANKGROVE_TERMS(worse_as_given, false, 2)
#undef RANKGROVE_TERMS

struct Block {
  int64_t query;
  int64_t begin, end;  // documents, by their place in the order of labels
};

struct PairScratch {
  std::vector<float> exponentials;  // of the scores against one document, in queries of wide range
  std::vector<float> pair_weight;   // against the label before, if it is neither 0 nor 1
};

// The scores and labels of all queries, each in its order of labels.
struct SortedLists {
  SortedLists(const Queries& queries, const double* scores, const double* labels,
              const int32_t* order, int n_threads)
      : score(static_cast<size_t>(queries.offsets[queries.count])),
        label(score.size()),
        decay(score.size()),
        wide(static_cast<size_t>(queries.count)) {
    struct Nothing {};
    const auto nothing = [] { return Nothing(); };
    for_each_query(queries, n_threads, 10.0, nothing, [&](int64_t q, Nothing&) {
      const int64_t first = queries.offsets[q];
      const int64_t end = queries.offsets[q + 1];
      if (first == end) return;
      const double top = *std::max_element(labels + first, labels + end);
      for (int64_t i = first; i < end; ++i) {
        score[i] = scores[first + order[i]];
        // Differences are what counts: labels far from 0 keep their digits.
        label[i] = static_cast<float>(labels[first + order[i]] - top);
      }
      const auto [low, high] = std::minmax_element(scores + first, scores + end);
      wide[q] = !(*high - *low <= kQuotientRange);
      const double middle = 0.5 * *low + 0.5 * *high;
      exp_array(score.data() + first, middle, 1.0, static_cast<size_t>(end - first),
                decay.data() + first);
    });
  }
  std::vector<double> score;
  std::vector<float> label, decay;
  std::vector<char> wide;
};

}  // namespace

void pair_logit_gradients(const Queries& queries, const double* scores, const double* labels,
                          const int32_t* order, const double* weight, double power, int n_threads,
                          float* gradients, float* hessians) {
  const SortedLists lists(queries, scores, labels, order, n_threads);
  std::vector<Block> blocks;
  double terms = 0;
  for (int64_t q = 0; q < queries.count; ++q) {
    const int64_t n = queries.size(q);
    for (int64_t i = 0; i < n; i += kBlock) blocks.push_back({q, i, std::min(n, i + kBlock)});
    terms += static_cast<double>(n) * static_cast<double>(n);
  }
  const auto better = power == 0   ? better_equally
                      : power == 1 ? better_by_difference
                                   : better_as_given;
  const auto worse = power == 0 ? worse_equally : power == 1 ? worse_by_difference : worse_as_given;
  const bool given = power != 0 && power != 1;
  const double cost =
      kNanosecondsPerTerm * terms / static_cast<double>(std::max<size_t>(blocks.size(), 1));
  const auto n_blocks = static_cast<int64_t>(blocks.size());
  const auto make_scratch = [] { return PairScratch(); };
  parallel_for(n_blocks, n_threads, cost, make_scratch, [&](int64_t b, PairScratch& s) {
    const Block& block = blocks[static_cast<size_t>(b)];
    const int64_t first = queries.offsets[block.query];
    const auto n = static_cast<size_t>(queries.size(block.query));
    const double* score = lists.score.data() + first;
    const float* label = lists.label.data() + first;
    const bool wide = lists.wide[static_cast<size_t>(block.query)];
    if (wide) s.exponentials.resize(n);
    for (auto i = static_cast<size_t>(block.begin); i < static_cast<size_t>(block.end); ++i) {
      // Documents of the same label stand in [equal, above_end of the worse).
      const auto falls = [](float a, float y) { return a > y; };
      const auto equal =
          static_cast<size_t>(std::lower_bound(label, label + n, label[i], falls) - label);
      const auto lower = static_cast<size_t>(
          std::upper_bound(label, label + n, label[i], [](float y, float a) { return y > a; }) -
          label);
      const float* decay = lists.decay.data() + first;
      float scale = 1.0f / decay[i];
      if (wide) {
        exp_array(score, score[i], 1.0, n, s.exponentials.data());
        decay = s.exponentials.data();
        scale = 1.0f;
      }
      const bool same_label = i > static_cast<size_t>(block.begin) && label[i] == label[i - 1];
      if (given && !same_label) {
        s.pair_weight.resize(n);
        power_array(label, label[i], static_cast<float>(power), n, s.pair_weight.data());
      }
      double gradient = 0;
      double hessian = 0;
      const auto add = [&](auto terms_of, double sign, size_t begin, size_t end) {
        for (size_t j = begin; j < end; j += kPairChunk) {
          Sums sums;
          terms_of(decay, scale, label, label[i], s.pair_weight.data(), j,
                   std::min(end, j + kPairChunk), &sums);
          gradient += sign * static_cast<double>(sums.gradient);
          hessian += static_cast<double>(sums.hessian);
        }
      };
      add(better, 1.0, 0, equal);
      add(worse, -1.0, lower, n);
      const int64_t row = first + order[first + static_cast<int64_t>(i)];
      const double w = weight ? weight[row] : 1.0;
      gradients[row] = static_cast<float>(w * gradient);
      hessians[row] = static_cast<float>(w * hessian);
    }
  });
}

}  // namespace rankgrove
