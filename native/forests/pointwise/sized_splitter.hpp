// A splitter that uses one splitter for small nodes and another for large ones.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

template <typename Code>
class SizedSplitter final : public NodeSplitter<Code> {
 public:
  using Part = std::unique_ptr<NodeSplitter<Code>>;

  // Nodes with up to `most_small` documents are small.
  SizedSplitter(Part small, int64_t most_small, Part large)
      : small_(std::move(small)), large_(std::move(large)), most_small_(most_small) {}

  NodeSplit find(const NodeRows& documents, const WaitingNode& node, Random& random) override {
    last_ = documents.n_documents <= most_small_ ? small_.get() : large_.get();
    return last_->find(documents, node, random);
  }

  bool reads_bits() const override { return small_->reads_bits(); }
  NodeSplit find(const DocumentBits& documents, const uint32_t* class_counts,
                 Random& random) override {
    return small_->find(documents, class_counts, random);
  }

  const Code* split_codes() const override { return last_->split_codes(); }
  std::span<const int32_t> split_categories() const override { return last_->split_categories(); }

 private:
  Part small_, large_;
  int64_t most_small_;
  NodeSplitter<Code>* last_ = nullptr;
};

}  // namespace rankgrove::forests
