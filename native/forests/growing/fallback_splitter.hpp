// A splitter that falls back to another one on nodes where the first finds no split.
#pragma once

#include <memory>
#include <utility>

#include "forests/nodes/node_splitter.hpp"

namespace rankgrove::forests {

template <typename Code>
class FallbackSplitter final : public NodeSplitter<Code> {
 public:
  using Part = std::unique_ptr<NodeSplitter<Code>>;

  FallbackSplitter(Part first, Part second)
      : first_(std::move(first)), second_(std::move(second)) {}

  NodeSplit find(const NodeRows& documents, const WaitingNode& node, Random& random) override {
    last_ = first_.get();
    const NodeSplit split = first_->find(documents, node, random);
    if (split.found()) return split;
    last_ = second_.get();
    return second_->find(documents, node, random);
  }

  const Code* split_codes() const override { return last_->split_codes(); }
  std::span<const int32_t> split_categories() const override { return last_->split_categories(); }

 private:
  Part first_, second_;
  NodeSplitter<Code>* last_ = nullptr;
};

}  // namespace rankgrove::forests
