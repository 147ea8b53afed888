// One splitter for all nodes, and another for those where the first finds nothing.
#pragma once

#include <memory>

#include "forests/split.hpp"

namespace rankgrove::forests {

template <typename Code>
class FallbackSplitter final : public NodeSplitter<Code> {
 public:
  FallbackSplitter(NodeSplitter<Code>& first, NodeSplitter<Code>& second)
      : first_(first), second_(second) {}

  Split find(const NodeRows& documents, const WaitingNode& node, Random& random) override {
    last_ = &first_;
    const Split split = first_.find(documents, node, random);
    if (split.found()) return split;
    last_ = &second_;
    return second_.find(documents, node, random);
  }

  const Code* split_codes() const override { return last_->split_codes(); }

 private:
  NodeSplitter<Code>& first_;
  NodeSplitter<Code>& second_;
  NodeSplitter<Code>* last_ = nullptr;
};

}  // namespace rankgrove::forests
