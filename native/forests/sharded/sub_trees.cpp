#include "forests/sharded/sub_trees.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rankgrove::forests {
namespace {

int64_t code_size(const ForestData& data) { return data.features.binned->wide ? 2 : 1; }

// A node as it travels; see TableNode.
struct SentNode {
  double value, gain;
  int64_t n_documents;
  int32_t left, feature;
  float threshold;
  int32_t n_words;  // of its set of categories; -1: it has none
  uint8_t missing_left, branch, pure;
};

template <typename Code>
bool are_codes(const Bins& bins, const uint8_t* bytes, int64_t n_rows) {
  const auto* codes = reinterpret_cast<const Code*>(bytes);
  const int32_t n_features = bins.n_features();
  for (int64_t i = 0; i < n_rows; ++i) {
    for (int32_t f = 0; f < n_features; ++f) {
      if (*codes++ > bins.n_bins(f)) return false;
    }
  }
  return true;
}

template <typename Code>
void pack_codes(const ForestFeatures& features, const int32_t* rows, int64_t n,
                ByteWriter& message) {
  const int32_t n_features = features.binned->n_features();
  std::vector<Code> codes(static_cast<size_t>(n_features));
  for (int64_t i = 0; i < n; ++i) {
    if (features.row_by_row) {
      message.put_all(std::span<const Code>(
          features.row_codes<Code>() + int64_t{rows[i]} * n_features, codes.size()));
      continue;
    }
    for (int32_t f = 0; f < n_features; ++f) codes[f] = features.binned->code<Code>(f, rows[i]);
    message.put_all(std::span<const Code>(codes));
  }
}

// The moved rows as features, with the bins of all.
template <typename Code>
ForestFeatures features_of(const ForestFeatures& all, const MovedRows& moved) {
  const int64_t n = moved.n;
  const int64_t n_features = all.binned->n_features();
  auto columns = std::make_shared<std::vector<Code>>(static_cast<size_t>(n * n_features));
  const auto* codes = reinterpret_cast<const Code*>(moved.codes.data());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t f = 0; f < n_features; ++f) (*columns)[f * n + i] = codes[i * n_features + f];
  }
  auto binned = std::make_shared<BinnedMatrix>();
  binned->bins = all.binned->bins;
  binned->n_rows = n;
  binned->wide = all.binned->wide;
  binned->codes = std::shared_ptr<const void>(columns, columns->data());
  ForestFeatures features;
  features.binned = std::move(binned);
  features.offsets = {0, n};
  features.bin_values = all.bin_values;
  features.usual.assign(static_cast<size_t>(n_features), -1);
  if constexpr (sizeof(Code) == 1) {
    features.rows8.assign(codes, codes + n * n_features);
  } else {
    features.rows16.assign(codes, codes + n * n_features);
  }
  return features;
}

}  // namespace

int64_t packed_row_size(const ForestData& data, bool distinct_rows) {
  return code_size(data) * data.features.binned->n_features() + 8 +
         (data.targets.has_classes() ? 1 : 0) + (data.targets.weight.empty() ? 0 : 8) +
         (distinct_rows ? 4 : 0);
}

void pack_rows(const ForestData& data, const ShardRows& rows, const OpenNode& node,
               ByteWriter& message) {
  const int64_t n = node.end - node.begin;
  const int32_t* own = rows.rows.data() + node.begin;
  message.put(n);
  if (data.features.binned->wide) {
    pack_codes<uint16_t>(data.features, own, n, message);
  } else {
    pack_codes<uint8_t>(data.features, own, n, message);
  }
  const ForestTargets& targets = data.targets;
  for (int64_t i = 0; i < n; ++i) message.put(targets.target[own[i]]);
  for (int64_t i = 0; targets.has_classes() && i < n; ++i) message.put(targets.label[own[i]]);
  for (int64_t i = 0; !targets.weight.empty() && i < n; ++i) message.put(targets.weight[own[i]]);
  for (int64_t i = 0; !rows.times.empty() && i < n; ++i) message.put(rows.times[own[i]]);
}

void unpack_rows(const ForestData& data, bool distinct_rows, ByteReader& message,
                 const NodeSummary& all, MovedRows& rows) {
  const auto n = message.get<int64_t>();
  message.require(n >= 0 && n <= all.n_rows - rows.n, "more rows of a node than were counted");
  message.require(n * packed_row_size(data, distinct_rows) <= message.n_left(), "it is too short");
  const auto append = [&](auto& values, int64_t count, auto&& is_right, const char* what) {
    const auto old = std::ssize(values);
    values.resize(static_cast<size_t>(old + count));
    message.get_all(values.data() + old, static_cast<size_t>(count));
    message.require(std::all_of(values.begin() + old, values.end(), is_right), what);
  };
  const Bins& bins = *data.features.binned->bins;
  const ForestTargets& targets = data.targets;
  const auto any = [](auto) { return true; };
  const auto old_codes = std::ssize(rows.codes);
  append(rows.codes, n * code_size(data) * bins.n_features(), any, "");
  const uint8_t* codes = rows.codes.data() + old_codes;
  message.require(data.features.binned->wide ? are_codes<uint16_t>(bins, codes, n)
                                             : are_codes<uint8_t>(bins, codes, n),
                  "a code that a feature does not have");
  const bool counted =
      targets.has_classes() && targets.weight.empty();  // so that no range is known
  append(
      rows.target, n,
      [&](double target) {
        return counted ? std::isfinite(target) : all.low <= target && target <= all.high;
      },
      "a target that the node does not have");
  if (targets.has_classes()) {
    append(
        rows.label, n, [&](uint8_t label) { return label < targets.n_classes(); }, "a wrong class");
  }
  if (!targets.weight.empty()) {
    append(
        rows.weight, n, [](double weight) { return weight > 0 && std::isfinite(weight); },
        "a wrong weight");
  }
  rows.n += n;
  int64_t n_documents = n;
  if (distinct_rows) {
    append(rows.times, n, [](uint32_t times) { return times > 0; }, "a row that was not drawn");
    n_documents = std::accumulate(rows.times.end() - n, rows.times.end(), int64_t{0});
  }
  rows.n_documents += n_documents;
  message.require(rows.n_documents <= all.n_documents, "more documents than were counted");
}

void grow_moved(const ForestData& data, const ForestOptions& options, const CriterionTable& table,
                const SubTreeRoot& place, MovedRows rows, bool distinct_rows, GrowingTree& scratch,
                ByteWriter& result) {
  const ForestFeatures features = data.features.binned->wide
                                      ? features_of<uint16_t>(data.features, rows)
                                      : features_of<uint8_t>(data.features, rows);
  ForestTargets targets;
  targets.target = std::move(rows.target);
  targets.label = std::move(rows.label);
  targets.weight = std::move(rows.weight);
  targets.class_value = data.targets.class_value;
  targets.weight_grid = data.targets.weight_grid;
  targets.target_grid = data.targets.target_grid;
  targets.square_grid = data.targets.square_grid;
  SampledRows drawn;
  drawn.rows.resize(static_cast<size_t>(rows.n));
  std::iota(drawn.rows.begin(), drawn.rows.end(), 0);
  if (distinct_rows) drawn.times = std::move(rows.times);
  // Nodes of a limited tree need only be known as far as it could grow here.
  const bool limited = options.max_leaf_nodes != kUnlimited;
  ForestOptions below = options;
  NodeOrder order = NodeOrder::kDepthFirst;
  if (limited && options.order != NodeOrder::kRandom) {
    order = options.order;
  } else {
    below.max_leaf_nodes = kUnlimited;
  }
  std::vector<double> gains;
  grow_sub_tree(
      {features, targets}, below, order, std::move(drawn), place, table, [] {}, scratch, gains);
  const std::vector<GrowingNode>& nodes = scratch.nodes();
  result.put(static_cast<int32_t>(nodes.size()));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const GrowingNode& node = nodes[i];
    SentNode sent{};
    sent.value = node.value;
    sent.gain = gains[i];
    sent.n_documents = node.count;
    sent.left = node.left;
    sent.feature = node.feature;
    sent.threshold = node.threshold;
    sent.n_words = -1;
    sent.missing_left = node.missing_left;
    sent.branch = node.branch;
    sent.pure = node.pure;
    if (node.set < 0) {
      result.put(sent);
      continue;
    }
    const std::span<const uint32_t> words = scratch.set_words(node.set);
    sent.n_words = static_cast<int32_t>(words.size());
    result.put(sent);
    result.put_all(words);
  }
}

void graft(ByteReader& message, const Bins& bins, int32_t place, NodeTable& table) {
  const auto n = message.get<int32_t>();
  message.require(n > 0 && int64_t{n} * static_cast<int64_t>(sizeof(SentNode)) <= message.n_left(),
                  "a wrong number of nodes");
  std::vector<uint8_t> has_parent(static_cast<size_t>(n), 0);
  // The first node is the one at `place`; the others come behind all that are there.
  const auto shift = static_cast<int32_t>(table.nodes.size()) - 1;
  for (int32_t i = 0; i < n; ++i) {
    const auto sent = message.get<SentNode>();
    TableNode node{.value = sent.value,
                   .n_documents = sent.n_documents,
                   .gain = sent.gain,
                   .feature = sent.feature,
                   .threshold = sent.threshold,
                   .missing_left = sent.missing_left != 0,
                   .branch = sent.branch != 0,
                   .pure = sent.pure != 0,
                   .known = true};
    if (sent.n_words >= 0) node.set = table.add_set(message.get_vector<uint32_t>(sent.n_words));
    if (sent.left >= 0) {
      // Children come behind their parent, and have no other.
      const bool is_place = sent.left > i && sent.left < n - 1;
      message.require(is_place && !has_parent[sent.left] && !has_parent[sent.left + 1],
                      "a wrong child");
      message.require(sent.feature >= 0 && sent.feature < bins.n_features(), "a wrong feature");
      message.require(!std::isnan(sent.gain), "a wrong gain");
      has_parent[sent.left] = has_parent[sent.left + 1] = 1;
      node.left = sent.left + shift;
    }
    if (i == 0) {
      table.nodes[place] = node;
    } else {
      table.add(node);
    }
  }
}

}  // namespace rankgrove::forests
