#include "forests/sharded/histogram_search.hpp"

#include <algorithm>
#include <numeric>

#include "common/category_bits.hpp"
#include "forests/criteria/entropy.hpp"
#include "forests/pointwise/random_threshold.hpp"

namespace rankgrove::forests {

SharedSplit HistogramSearch::find(const OpenNode& node, const int64_t* cells,
                                  double sample_weight) {
  start(node, cells);
  random_ = Random(node.key);
  draw_.start();
  std::vector<int32_t> features;
  const int32_t at_once = features_at_once(data_.features, options_);
  while (static_cast<int32_t>(features.size()) < at_once) features.push_back(draw_.next(random_));
  int32_t n_drawn = 0;
  for (const int32_t feature : features) {
    if (!visit(n_drawn++, feature)) return finished(sample_weight);
  }
  while (!draw_.exhausted() && options_.redraw && !splittable_) {
    if (n_drawn == node.n_drawn) {
      SharedSplit more;
      more.kind = SharedSplit::Kind::kMore;
      return more;
    }
    const int32_t feature = draw_.next(random_);
    if (!visit(n_drawn++, feature)) break;
  }
  return finished(sample_weight);
}

void HistogramSearch::start(const OpenNode& node, const int64_t* cells) {
  node_ = &node;
  own_steps_ = has_own_steps(data_.targets, node.all);
  if (own_steps_) packed_.start(node.all.low, node.all.high, node.all.n_documents);
  const std::vector<int32_t> drawn = drawn_features(data_.features, node.key, node.n_drawn);
  squares_ =
      cells + histogram_size(data_.features, layout_, node, drawn) - HistogramLayout::kSquares;
  feature_cells_ = cells;
  splittable_ = false;
  best_ = NodeSplit{};
  // Every document has a code of the first feature.
  std::fill(total_.begin(), total_.end(), 0);
  const int32_t n_codes = data_.features.binned->n_bins(drawn[node.n_constant]) + 1;
  for (int64_t i = 0; i < int64_t{n_codes} * layout_.stride; ++i) {
    total_[i % layout_.stride] += cells[i];
  }
  if (options_.splitter == Splitter::kRandom) return;
  node_score_ = score(total_.data());
  best_score_ = node_score_ + (options_.min_gain + kGainNoise) * weight(total_.data());
  perfect_ = perfect_score();
}

// Looks at a feature; tells whether to go on.
bool HistogramSearch::visit(int32_t number, int32_t feature) {
  if (number < node_->n_constant) return true;
  cells_ = feature_cells_;
  feature_cells_ += int64_t{data_.features.binned->n_bins(feature) + 1} * layout_.stride;
  if (!list_codes(feature)) return true;
  splittable_ = true;
  if (data_.features.binned->bins->is_categorical(feature)) rank_categories(feature);
  switch (options_.splitter) {
    case Splitter::kRandom:
      try_random(feature);
      return true;
    case Splitter::kBest:
      try_all_thresholds(feature);
      break;
    case Splitter::kRandomThreshold:
      try_one_threshold(feature);
      break;
  }
  return !best_.found() || best_score_ < perfect_;
}

// Lists the codes that documents have; tells whether there are several.
bool HistogramSearch::list_codes(int32_t feature) {
  codes_.clear();
  offsets_.clear();
  for (int32_t code = 0; code <= data_.features.binned->n_bins(feature); ++code) {
    const int64_t offset = int64_t{code} * layout_.stride;
    if (layout_.n_documents(cells_ + offset) == 0) continue;
    codes_.push_back(code);
    offsets_.push_back(offset);
  }
  return codes_.size() > 1;
}

// Puts categories into the order of CategoryRanks; their codes become ranks.
void HistogramSearch::rank_categories(int32_t feature) {
  const int32_t missing = data_.features.binned->n_bins(feature);
  categories_ = codes_;
  const bool some_missing = categories_.back() == missing;
  if (some_missing) categories_.pop_back();
  if (options_.splitter == Splitter::kBest) {
    const auto mean = [&](int32_t category) {
      return mean_target(cells_ + int64_t{category} * layout_.stride);
    };
    std::stable_sort(categories_.begin(), categories_.end(),
                     [&](int32_t a, int32_t b) { return mean(a) < mean(b); });
  } else {
    for (size_t i = categories_.size(); i > 1; --i) {
      std::swap(categories_[i - 1], categories_[random_.below(i)]);
    }
  }
  for (size_t rank = 0; rank < categories_.size(); ++rank) {
    codes_[rank] = static_cast<int32_t>(rank);
    offsets_[rank] = int64_t{categories_[rank]} * layout_.stride;
  }
}

void HistogramSearch::try_all_thresholds(int32_t feature) {
  list_.assign(codes_, offsets_);
  const int32_t missing = data_.features.binned->missing_bin(feature);
  const int32_t last_value = list_.size() - 2;  // of the entries, if the last one is missing
  const bool branch =
      codes_.back() == missing && last_value >= 0 && may_branch(feature, cells_ + offsets_.back());
  int32_t entered = 0;
  list_.for_each_threshold(
      feature, options_.threshold_fraction, random_,
      [&](bool first, int32_t entry) {
        if (first) std::fill(left_.begin(), left_.end(), 0);
        const int64_t* cell = cells_ + list_.offset(entry);
        for (int32_t i = 0; i < layout_.stride; ++i) left_[i] += cell[i];
        entered = entry;
      },
      [&](int32_t bin, int32_t next, bool missing_left) {
        if (!branch) {
          consider(feature, bin, next, missing_left);
        } else if (entered < last_value) {
          consider_three(feature, bin, next);
        } else {  // all values, also larger ones than those of the node, part from missing ones
          consider(feature, missing - 1, missing, false);
        }
      },
      !branch);
}

bool HistogramSearch::drawn_threshold(int32_t feature, NodeSplit& split) {
  const int32_t missing = data_.features.binned->missing_bin(feature);
  const auto largest_value = [&] {
    return codes_.back() == missing ? codes_[codes_.size() - 2] : codes_.back();
  };
  return draw_threshold(data_.features, feature, codes_.front(), codes_.back(),
                        options_.missing_branch, random_, largest_value, split);
}

void HistogramSearch::try_one_threshold(int32_t feature) {
  NodeSplit split;
  if (!drawn_threshold(feature, split)) return;
  add_left(split, left_);
  if (split.branch) {
    add_left({feature, -1, true}, right_);
    if (may_branch(feature, right_.data())) consider_three(feature, split.bin, split.bin + 1);
    return;
  }
  consider(feature, split.bin, split.bin + 1, split.missing_left);
}

void HistogramSearch::try_random(int32_t feature) {
  NodeSplit split;
  if (!drawn_threshold(feature, split)) return;
  add_left(split, left_);
  const int64_t n_left = layout_.n_documents(left_.data());
  int64_t n_missing = 0;
  if (split.branch) n_missing = layout_.n_documents(cells_ + offsets_.back());
  if (options_.min_samples_leaf > 1) {
    if (split.branch && n_missing < options_.min_samples_leaf) return;
    const int64_t n = layout_.n_documents(total_.data());
    if (std::min(n_left, n - n_left - n_missing) < options_.min_samples_leaf) return;
  }
  best_ = split;
  keep_entries();
}

bool HistogramSearch::may_branch(int32_t feature, const int64_t* missing) {
  const Bins& bins = *data_.features.binned->bins;
  if (!options_.missing_branch || bins.has_infinity[feature] || bins.is_categorical(feature) ||
      layout_.n_documents(missing) < options_.min_samples_leaf) {
    return false;
  }
  std::copy_n(missing, layout_.stride, missing_.begin());
  missing_score_ = score(missing);
  return true;
}

void HistogramSearch::add_left(const NodeSplit& split, std::vector<int64_t>& sums) const {
  std::fill(sums.begin(), sums.end(), 0);
  const int32_t missing = data_.features.binned->missing_bin(split.feature);
  for (size_t entry = 0; entry < codes_.size(); ++entry) {
    if (!split.goes_left(codes_[entry], missing)) continue;
    for (int32_t i = 0; i < layout_.stride; ++i) sums[i] += cells_[offsets_[entry] + i];
  }
}

void HistogramSearch::consider(int32_t feature, int32_t bin, int32_t next, bool missing_left) {
  for (int32_t i = 0; i < layout_.stride; ++i) right_[i] = total_[i] - left_[i];
  if (options_.min_samples_leaf > 1 && !(enough(left_) && enough(right_))) return;
  keep_if_better(score(left_.data()) + score(right_.data()), {feature, bin, missing_left}, next);
}

void HistogramSearch::consider_three(int32_t feature, int32_t bin, int32_t next) {
  for (int32_t i = 0; i < layout_.stride; ++i) right_[i] = total_[i] - left_[i] - missing_[i];
  if (options_.min_samples_leaf > 1 && !(enough(left_) && enough(right_))) return;
  const double both = score(left_.data()) + score(right_.data());
  keep_if_better(both + missing_score_, {feature, bin, false, true}, next);
}

void HistogramSearch::keep_if_better(double score, const NodeSplit& split, int32_t next) {
  if (!(score > best_score_)) return;
  best_score_ = score;
  const bool new_feature = best_.feature != split.feature;
  best_ = split;
  best_next_ = next;
  if (new_feature) keep_entries();
}

// Keeps the entries of the best feature, which are needed later.
void HistogramSearch::keep_entries() {
  const int32_t missing = data_.features.binned->missing_bin(best_.feature);
  best_some_missing_ = codes_.back() == missing;
  if (!data_.features.binned->bins->is_categorical(best_.feature)) return;
  best_categories_ = categories_;
  best_category_rows_.clear();
  for (const int64_t offset : offsets_) {
    best_category_rows_.push_back(layout_.n_rows(cells_ + offset));
  }
}

SharedSplit HistogramSearch::finished(double sample_weight) {
  SharedSplit result;
  if (!best_.found()) return result;
  result.kind = SharedSplit::Kind::kFound;
  result.some_missing = best_some_missing_ && data_.features.binned->has_missing(best_.feature);
  if (options_.splitter != Splitter::kRandom) {
    best_.gain = (best_score_ - node_score_) / sample_weight;
    if (options_.splitter == Splitter::kBest) best_.bin = list_.centered_bin(best_, best_next_);
  }
  result.split = best_;
  result.categorical = data_.features.binned->bins->is_categorical(best_.feature);
  if (!result.categorical) return result;
  // The set has the categories of the child with fewer rows: others follow the larger one.
  const auto n_categories = best_categories_.size();
  const auto first_right = best_category_rows_.begin() + best_.bin + 1;
  int64_t n_left = std::reduce(best_category_rows_.begin(), first_right, int64_t{0});
  if (best_.missing_left && best_some_missing_) n_left += best_category_rows_[n_categories];
  const int64_t n = std::reduce(best_category_rows_.begin(), best_category_rows_.end(), int64_t{0});
  const std::span<const int32_t> categories = best_categories_;
  const bool flip = 2 * n_left > n;
  result.words =
      category_words(flip ? categories.subspan(best_.bin + 1) : categories.first(best_.bin + 1));
  result.split.missing_left = best_.missing_left != flip;
  return result;
}

double HistogramSearch::weight(const int64_t* cell) const {
  if (layout_.weight >= 0) return data_.targets.weight_grid.value(cell[layout_.weight]);
  if (layout_.classes < 0) return static_cast<double>(cell[layout_.documents]);
  double sum = 0;
  for (int32_t c = 0; c < layout_.n_classes; ++c) sum += class_weight(cell, c);
  return sum;
}

double HistogramSearch::class_weight(const int64_t* cell, int32_t c) const {
  const int64_t units = cell[layout_.classes + c];
  return layout_.documents < 0 ? static_cast<double>(units)
                               : data_.targets.weight_grid.value(units);
}

double HistogramSearch::score(const int64_t* cell) const {
  if (layout_.classes < 0) {
    const double unit = own_steps_ ? packed_.step_size() : data_.targets.target_grid.unit();
    const double sum = unit * static_cast<double>(cell[layout_.target]);
    const double n = weight(cell);
    return n > 0 ? sum * sum / n : 0.0;
  }
  double sum = 0;
  double n = 0;
  const bool entropy = options_.criterion == "entropy";
  for (int32_t c = 0; c < layout_.n_classes; ++c) {
    const double count = class_weight(cell, c);
    sum += entropy ? x_log2_x(count) : count * count;
    n += count;
  }
  if (entropy) return sum - x_log2_x(n);
  return n > 0 ? sum / n : 0.0;
}

double HistogramSearch::perfect_score() const {
  if (layout_.classes < 0) return (1 - 1e-12) * squares_of(data_.targets, *node_, squares_);
  const double n = weight(total_.data());
  return options_.criterion == "entropy" ? -1e-12 * n : (1 - 1e-12) * n;
}

// As CategoryRanks computes it.
double HistogramSearch::mean_target(const int64_t* cell) const {
  const ForestTargets& targets = data_.targets;
  double sum = 0;
  if (layout_.target >= 0) {
    sum = targets.target_grid.value(
        cell[layout_.grid_target >= 0 ? layout_.grid_target : layout_.target]);
  } else {
    for (int32_t c = 0; c < layout_.n_classes; ++c) {
      sum += static_cast<double>(cell[layout_.classes + c]) *
             targets.target_grid.rounded(targets.class_value[c]);
    }
  }
  const double n = weight(cell);
  return n > 0 ? sum / n : 0.0;
}

}  // namespace rankgrove::forests
