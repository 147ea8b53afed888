#include "forests/sharded/sub_trees.hpp"

#include <numeric>
#include <utility>

namespace rankgrove::forests {
namespace {

int64_t code_size(const ForestData& data) { return data.features.binned->wide ? 2 : 1; }

// A node as it travels.
struct SentNode {
  TableNode node;
  int32_t n_words;  // of its set of categories; -1: it has none
};

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

void unpack_rows(const ForestData& data, bool distinct_rows, ByteReader& message, MovedRows& rows) {
  const auto n = static_cast<size_t>(message.get<int64_t>());
  const auto append = [&](auto& values, size_t count) {
    const size_t old = values.size();
    values.resize(old + count);
    message.get_all(values.data() + old, count);
  };
  rows.n += static_cast<int64_t>(n);
  append(rows.codes, n * code_size(data) * data.features.binned->n_features());
  append(rows.target, n);
  if (data.targets.has_classes()) append(rows.label, n);
  if (!data.targets.weight.empty()) append(rows.weight, n);
  if (distinct_rows) append(rows.times, n);
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
    sent.node = {.value = node.value,
                 .n_documents = node.count,
                 .gain = gains[i],
                 .left = node.left,
                 .feature = node.feature,
                 .threshold = node.threshold,
                 .missing_left = node.missing_left,
                 .branch = node.branch,
                 .pure = node.pure,
                 .known = true};
    sent.n_words = -1;
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

void graft(ByteReader& message, int32_t place, NodeTable& table) {
  const auto n = message.get<int32_t>();
  // The first node is the one at `place`; the others come behind all that are there.
  const auto shift = static_cast<int32_t>(table.nodes.size()) - 1;
  for (int32_t i = 0; i < n; ++i) {
    auto sent = message.get<SentNode>();
    if (sent.n_words >= 0) {
      std::vector<uint32_t> words(static_cast<size_t>(sent.n_words));
      message.get_all(words.data(), words.size());
      sent.node.set = table.add_set(std::move(words));
    }
    if (sent.node.left >= 0) sent.node.left += shift;
    if (i == 0) {
      table.nodes[place] = sent.node;
    } else {
      table.add(sent.node);
    }
  }
}

}  // namespace rankgrove::forests
