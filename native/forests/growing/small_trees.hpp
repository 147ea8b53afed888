// Grows the part of a tree below a node of up to 65,536 documents, which are bits of words (see
// document_bits.hpp). The nodes are those that the grower of the tree would make, depth-first.
//
// A node that has become much smaller than the block of documents that it is a part of gets a block
// of its own, so that few of the bits that are read belong to other nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/random.hpp"
#include "forests/data/forest_data.hpp"
#include "forests/growing/forest_options.hpp"
#include "forests/growing/growing_tree.hpp"
#include "forests/nodes/document_bits.hpp"
#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

template <typename Code>
class SmallTrees {
 public:
  // Whether trees of these data may be finished so. (A block has all features of its documents: if
  // there are many, gathering the few that nodes read is faster.)
  static bool fit(const ForestData& data, const NodeSplitter<Code>& splitter) {
    constexpr int32_t kMostFeatures = 256;
    return data.features.binned->n_features() <= kMostFeatures && sizeof(Code) == 1 &&
           DocumentBits::available() && splitter.reads_bits() && data.features.row_by_row &&
           !data.features.binned->bins->any_categorical() && data.targets.weight.empty() &&
           data.targets.has_classes() && data.targets.n_classes() <= kFewClasses;
  }

  SmallTrees(const ForestData& data, const ForestOptions& options, double sample_weight,
             NodeSplitter<Code>& splitter, int64_t n_documents, GrowingTree& tree)
      : data_(data),
        options_(options),
        sample_weight_(sample_weight),
        splitter_(splitter),
        tree_(tree) {
    const bool few_features = options.splitter == Splitter::kRandom || options.max_features < 4;
    // A node looks at all documents of its block, and a block copies all of its documents: eight
    // times as many documents as in the smallest node of a block balance both.
    constexpr int64_t kSmallest = 64;
    for (const int64_t most_documents : {int64_t{65536}, int64_t{8192}, int64_t{1024}, kSmallest}) {
      if (most_documents > kSmallest) {
        if (few_features) continue;                       // a large block takes longer to make
        if (most_documents / 8 >= n_documents) continue;  // a smaller one has room for all
      }
      blocks_.push_back(std::make_unique<Block>(data, std::min(most_documents, n_documents)));
    }
  }

  // Nodes of up to this many documents are grown.
  int64_t most_documents() const { return blocks_.front()->documents.most_documents(); }

  // Splits a node that is not pure, with these rows of these classes, and all below it.
  void grow(const WaitingNode& node, const int32_t* rows, const uint8_t* labels) {
    grow({node.node, node.depth, node.key, node.value, node.n_rows(), node.class_counts}, rows,
         labels, 0);
  }

 private:
  struct Node {
    int32_t node;
    int32_t depth;
    uint64_t key;
    double value;
    int64_t n_documents;
    DocumentBits::Counts class_counts;
  };

  struct Block {
    Block(const ForestData& data, int64_t most_documents)
        : documents(data.features, data.targets.n_classes(), most_documents) {}

    DocumentBits documents;
    std::vector<int32_t> rows;  // of a smaller block below it
    std::vector<uint8_t> labels;
    std::vector<Node> waiting;  // and their sets, one behind the other
    std::vector<uint64_t> sets;
  };

  void grow(const Node& root, const int32_t* rows, const uint8_t* labels, size_t level) {
    while (level + 1 < blocks_.size() &&
           root.n_documents <= blocks_[level + 1]->documents.most_documents()) {
      ++level;
    }
    Block& block = *blocks_[level];
    DocumentBits& documents = block.documents;
    documents.assign(rows, labels, root.n_documents);
    const int64_t n_words = documents.n_words();
    block.waiting.assign(1, root);
    block.sets.resize(n_words);
    documents.put_all(block.sets.data());
    const int64_t most_below =
        level + 1 < blocks_.size() ? blocks_[level + 1]->documents.most_documents() : 0;
    while (!block.waiting.empty()) {
      const Node node = block.waiting.back();
      block.waiting.pop_back();
      const uint64_t* set = block.sets.data() + block.sets.size() - n_words;
      if (node.n_documents <= most_below) {
        block.rows.clear();
        block.labels.clear();
        documents.list(set, block.rows, block.labels);
        block.sets.resize(block.sets.size() - n_words);
        grow(node, block.rows.data(), block.labels.data(), level + 1);
        continue;
      }
      documents.start(set, node.n_documents);
      block.sets.resize(block.sets.size() - n_words);
      split(node, block);
    }
  }

  void split(const Node& node, Block& block) {
    if (node.n_documents < options_.min_samples_split || node.depth >= options_.max_depth ||
        node.n_documents < 2 * options_.min_samples_leaf) {
      return;
    }
    const DocumentBits& documents = block.documents;
    Random random(node.key);
    NodeSplit split = splitter_.find(documents, node.class_counts.data(), random);
    if (!split.found()) return;
    const int32_t first = tree_.n_nodes();
    Node left{first, node.depth + 1, left_key(node.key), 0.0, 0, {}};
    Node right{first + 1, node.depth + 1, right_key(node.key), 0.0, 0, {}};
    documents.count_left(split, left.class_counts);
    for (int32_t c = 0; c < kFewClasses; ++c) {
      right.class_counts[c] = node.class_counts[c] - left.class_counts[c];
    }
    const ForestTargets& targets = data_.targets;
    const bool left_pure =
        targets.summarise(left.class_counts.data(), left.n_documents, left.value);
    const bool right_pure =
        targets.summarise(right.class_counts.data(), right.n_documents, right.value);
    if (options_.splitter == Splitter::kRandom) {
      const auto fall = [&](const Node& child) {
        const double difference = child.value - node.value;
        return static_cast<double>(child.n_documents) * difference * difference;
      };
      split.gain = (fall(left) + fall(right)) / sample_weight_;
    }
    tree_.add_leaf(left.value, left.n_documents, left_pure);
    tree_.add_leaf(right.value, right.n_documents, right_pure);
    const bool missing_left = documents.some_missing(split.feature)
                                  ? split.missing_left
                                  : left.n_documents >= right.n_documents;
    tree_.split_leaf(node.node, split, split.threshold(*data_.features.binned->bins), missing_left,
                     first);
    if (left_pure && right_pure) return;
    const int64_t n_words = documents.n_words();
    const auto n_before = block.sets.size();
    block.sets.resize(n_before + 2 * n_words);
    uint64_t* const sets = block.sets.data() + n_before;
    if (right_pure) {
      documents.part(split, sets, sets + n_words);
    } else {
      documents.part(split, sets + n_words, sets);
    }
    if (left_pure || right_pure) block.sets.resize(n_before + n_words);
    if (!right_pure) block.waiting.push_back(right);
    if (!left_pure) block.waiting.push_back(left);
  }

  const ForestData data_;
  const ForestOptions& options_;
  double sample_weight_;
  NodeSplitter<Code>& splitter_;
  GrowingTree& tree_;
  std::vector<std::unique_ptr<Block>> blocks_;  // the largest first
};

}  // namespace rankgrove::forests
