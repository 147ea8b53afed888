#include "trees/split_offers.hpp"

#include <cmath>
#include <cstring>

#include "distributed/damaged_message.hpp"

namespace rankgrove {
namespace {

struct PackedOffer {
  double gain, preference;
  GradientSums left;
  int32_t feature, bin;
  uint8_t missing_left, branch, flag, has_categories;
  uint32_t n_words;  // of the set of categories that follows, after the sums of a branch
};

std::string to_bytes(const std::vector<SplitOffer>& offers) {
  std::string bytes;
  for (const auto& [split, preference, flag] : offers) {
    const auto& categories = split.rule.categories;
    const PackedOffer head{split.gain,
                           preference,
                           split.left,
                           split.rule.feature,
                           split.rule.bin,
                           split.rule.missing_left,
                           split.branch,
                           flag,
                           categories != nullptr,
                           categories ? static_cast<uint32_t>(categories->size()) : 0};
    bytes.append(reinterpret_cast<const char*>(&head), sizeof(head));
    if (split.branch) {
      bytes.append(reinterpret_cast<const char*>(&split.values), sizeof(split.values));
    }
    if (categories) {
      bytes.append(reinterpret_cast<const char*>(categories->data()),
                   categories->size() * sizeof(uint32_t));
    }
  }
  return bytes;
}

bool is_split(const Split& split, const Bins& bins) {
  const CodeRule& rule = split.rule;
  if (rule.feature >= bins.n_features() || std::isnan(split.gain)) return false;
  if (rule.categories || bins.is_categorical(rule.feature)) {
    return rule.categories && bins.is_categorical(rule.feature) && !split.branch;
  }
  return rule.bin >= 0 && rule.bin <= bins.n_bins(rule.feature);
}

std::vector<SplitOffer> from_bytes(std::string_view bytes, size_t n, int rank, const Bins& bins) {
  const auto take = [&](void* target, size_t length) {
    require_of_message(length <= bytes.size(), rank, "offers of splits that are cut off");
    if (length > 0) std::memcpy(target, bytes.data(), length);
    bytes.remove_prefix(length);
  };
  std::vector<SplitOffer> offers(n);
  for (auto& [split, preference, flag] : offers) {
    PackedOffer head{};
    take(&head, sizeof(head));
    split.gain = head.gain;
    split.left = head.left;
    split.branch = head.branch != 0;
    if (split.branch) take(&split.values, sizeof(split.values));
    split.rule = {head.feature, head.bin, head.missing_left != 0};
    preference = head.preference;
    flag = head.flag != 0;
    if (head.has_categories) {
      const size_t length = head.n_words * sizeof(uint32_t);
      std::vector<uint32_t> words(length <= bytes.size() ? head.n_words : 0);
      take(words.data(), length);
      split.rule.categories = std::make_shared<const std::vector<uint32_t>>(std::move(words));
    }
    require_of_message(!split.found() || is_split(split, bins), rank,
                       "a split that the features do not have");
  }
  require_of_message(bytes.empty(), rank, "more offers of splits than there are nodes");
  return offers;
}

}  // namespace

std::vector<SplitOffer> best_offers(const RowShare& share, const Bins& bins,
                                    std::vector<SplitOffer> own) {
  if (share.alone() || own.empty()) return own;
  std::vector<SplitOffer> best(own.size());
  int rank = 0;
  for (const std::string& part : share.gather(to_bytes(own))) {
    const std::vector<SplitOffer> theirs = from_bytes(part, own.size(), rank++, bins);
    for (size_t i = 0; i < own.size(); ++i) {
      if (theirs[i].split.found() && theirs[i].preference > best[i].preference) best[i] = theirs[i];
    }
  }
  return best;
}

}  // namespace rankgrove
