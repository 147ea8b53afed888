#include "forests/sharded/sharded_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "common/category_bits.hpp"
#include "common/parallel.hpp"
#include "forests/growing/forest_grower.hpp"
#include "forests/sharded/byte_stream.hpp"
#include "forests/sharded/sub_trees.hpp"

namespace rankgrove::forests {
namespace {

constexpr double kNanosecondsPerRow = 5.0;
constexpr double kNanosecondsPerCell = 10.0;
constexpr double kNanosecondsPerMovedRow = 2000.0;
constexpr int32_t kFewMoreFeatures = 8;  // that a node looks at if all before are constant

// A split as it travels; the words of a set of categories follow.
struct SentSplit {
  double gain;
  int32_t kind, feature, bin, n_words;
  uint8_t missing_left, branch, some_missing, categorical;
};

SharedSplit read_split(ByteReader& message, const OpenNode& node, const Bins& bins) {
  const auto sent = message.get<SentSplit>();
  SharedSplit found;
  found.kind = static_cast<SharedSplit::Kind>(sent.kind);
  found.split = {sent.feature, sent.bin, sent.missing_left != 0, sent.branch != 0, sent.gain};
  found.some_missing = sent.some_missing != 0;
  found.categorical = sent.categorical != 0;
  found.words = message.get_vector<uint32_t>(sent.n_words);
  switch (found.kind) {
    case SharedSplit::Kind::kNone:
      return found;
    case SharedSplit::Kind::kMore:
      message.require(node.n_drawn < bins.n_features(), "more features than there are");
      return found;
    case SharedSplit::Kind::kFound:
      message.require(sent.feature >= 0 && sent.feature < bins.n_features(), "a wrong feature");
      message.require(found.categorical == bins.is_categorical(sent.feature), "a wrong split");
      message.require(found.categorical ? !found.split.branch
                                        : sent.bin >= 0 && sent.bin <= bins.n_bins(sent.feature),
                      "a wrong bin");
      return found;
  }
  message.require(false, "a wrong kind of split");
  return found;
}

}  // namespace

ShardedForest::ShardedForest(const ForestData& data, const ForestOptions& options,
                             const ForestSample& sample, uint64_t seed, int64_t first_tree,
                             int64_t n_trees, const ShardedGrowth& growth)
    : data_(data),
      options_(options),
      growth_(growth),
      distinct_(counts_repeats(data, options, sample, growth.largest_sample)),
      sums_(data.targets),
      layout_(data.targets, options, *data.features.binned->bins, distinct_),
      table_(criterion_table(data, options, growth.most_moved_rows)),
      trees_(static_cast<size_t>(n_trees)) {
  parallel_for(n_trees, growth_.n_threads, 1e6, [&](int64_t i) {
    ShardTree& tree = trees_[i];
    tree.seed = tree_seed(seed, static_cast<uint64_t>(first_tree + i));
    if (distinct_) {
      SampledRows drawn = draw_distinct_rows(sample, data_.features.offsets, tree.seed);
      tree.rows = {std::move(drawn.rows), std::move(drawn.times)};
    } else {
      tree.rows.rows = draw_rows(sample, data_.features.offsets, tree.seed);
    }
    if (!data_.targets.weight.empty()) {
      std::erase_if(tree.rows.rows, [&](int32_t row) { return data_.targets.weight[row] <= 0; });
    }
  });
  for (int32_t t = 0; t < n_trees; ++t) {
    NewNodes root;
    root.tree = t;
    root.is_root = true;
    root.parent.key = mix64(trees_[t].seed);
    root.parent.end = static_cast<int64_t>(trees_[t].rows.rows.size());
    root.ranges = {{0, root.parent.end}};
    new_.push_back(std::move(root));
  }
}

std::pair<std::vector<int64_t>, std::vector<int64_t>> ShardedForest::summaries() const {
  std::vector<int64_t> first(new_.size() + 1);
  for (size_t i = 0; i < new_.size(); ++i) {
    first[i + 1] = first[i] + std::ssize(new_[i].ranges);
  }
  std::vector<int64_t> sums(static_cast<size_t>(first.back() * sums_.n_sums()));
  std::vector<int64_t> maxima(static_cast<size_t>(first.back() * sums_.n_maxima()),
                              std::numeric_limits<int64_t>::min());
  double n_rows = 0;
  for (const NewNodes& made : new_) n_rows += static_cast<double>(made.parent.end);
  const double cost = kNanosecondsPerRow * n_rows / static_cast<double>(new_.size() + 1);
  parallel_for(std::ssize(new_), growth_.n_threads, cost, [&](int64_t i) {
    const NewNodes& made = new_[i];
    for (size_t part = 0; part < made.ranges.size(); ++part) {
      const auto [begin, end] = made.ranges[part];
      const int64_t number = first[i] + static_cast<int64_t>(part);
      sums_.add(trees_[made.tree].rows, begin, end, sums.data() + number * sums_.n_sums(),
                maxima.data() + number * sums_.n_maxima());
    }
  });
  return {std::move(sums), std::move(maxima)};
}

void ShardedForest::open(const int64_t* sums, size_t n_sums, const int64_t* maxima,
                         size_t n_maxima) {
  size_t n_nodes = 0;
  for (const NewNodes& made : new_) n_nodes += made.ranges.size();
  if (n_sums != n_nodes * sums_.n_sums() || n_maxima != n_nodes * sums_.n_maxima()) {
    throw std::invalid_argument("sums of new nodes have another length than their summaries");
  }
  std::vector<const int64_t*> node_sums, node_maxima;
  for (const NewNodes& made : new_) {
    node_sums.clear();
    node_maxima.clear();
    std::vector<NodeSummary> summaries;
    for (size_t part = 0; part < made.ranges.size(); ++part) {
      node_sums.push_back(sums);
      node_maxima.push_back(maxima);
      summaries.push_back(sums_.summary({&sums, 1}, {&maxima, 1}));
      require_possible(summaries.back(), made.ranges[part]);
      sums += sums_.n_sums();
      maxima += sums_.n_maxima();
    }
    if (made.is_root) {
      open_root(made, summaries[0]);
      continue;
    }
    const auto values =
        sums_.summary(std::span(node_sums).first(2), std::span(node_maxima).first(2));
    open_children(made, summaries, values);
  }
  new_.clear();
}

// Sums are of all workers, so that nobody can tell which one has sent wrong numbers.
void ShardedForest::require_possible(const NodeSummary& node,
                                     const std::pair<int64_t, int64_t>& own_rows) const {
  const bool possible = node.n_rows >= own_rows.second - own_rows.first &&
                        node.n_documents >= node.n_rows &&
                        node.n_documents <= growth_.largest_sample && std::isfinite(node.low) &&
                        std::isfinite(node.high) && node.low <= node.high;
  if (!possible) throw std::runtime_error("sums of all workers cannot be right: a worker is wrong");
}

void ShardedForest::open_root(const NewNodes& made, const NodeSummary& summary) {
  ShardTree& tree = trees_[made.tree];
  tree.root = summary;
  OpenNode root = made.parent;
  root.all = summary;
  root.place = add_node(tree, summary);
  wait(tree, root);
}

void ShardedForest::open_children(const NewNodes& made, const std::vector<NodeSummary>& summaries,
                                  const NodeSummary& values) {
  ShardTree& tree = trees_[made.tree];
  const OpenNode& node = made.parent;
  const NodeSplit& split = made.found.split;
  double gain = split.gain;
  if (options_.splitter == Splitter::kRandom) {
    const auto fall = [&](const NodeSummary& child) {
      const double difference = child.value - node.all.value;
      return child.weight * difference * difference;
    };
    gain = (fall(summaries[0]) + fall(summaries[1])) / tree.root.weight;
    if (split.branch) gain += fall(summaries[2]) / tree.root.weight;
  }
  int32_t place = node.place;
  std::vector<int32_t> children;
  if (split.branch) {
    TableNode upper = tree.table.nodes[place];
    upper.left = add_node(tree, values);
    tree.table.nodes[upper.left].pure = false;
    tree.table.nodes[upper.left].known = true;
    children.push_back(add_node(tree, summaries[2]));
    upper.feature = split.feature;
    upper.threshold = std::numeric_limits<float>::infinity();
    upper.gain = gain;
    upper.branch = true;
    upper.known = true;
    tree.table.nodes[place] = upper;
    place = upper.left;
    gain = 0;
  }
  const int32_t left = add_node(tree, summaries[0]);
  children.insert(children.begin(), {left, add_node(tree, summaries[1])});
  TableNode& parent = tree.table.nodes[place];
  parent.left = left;
  parent.feature = split.feature;
  parent.gain = gain;
  parent.known = true;
  if (made.found.categorical) {
    parent.set = tree.table.add_set(made.found.words);
  } else {
    parent.threshold = split.threshold(*data_.features.binned->bins);
  }
  // Where the node has no missing value, one that comes later follows the heavier child.
  parent.missing_left = made.found.some_missing && !split.branch
                            ? split.missing_left
                            : summaries[0].weight >= summaries[1].weight;
  const uint64_t keys[] = {mix64(node.key ^ 0x5bd1e995u), mix64(node.key + 1), mix64(node.key + 2)};
  for (size_t part = 0; part < children.size(); ++part) {
    OpenNode child;
    child.place = children[part];
    child.depth = node.depth + 1;
    child.key = keys[part];
    std::tie(child.begin, child.end) = made.ranges[part];
    child.all = summaries[part];
    wait(tree, child);
  }
}

int32_t ShardedForest::add_node(ShardTree& tree, const NodeSummary& summary) {
  return tree.table.add(
      {.value = summary.value, .n_documents = summary.n_documents, .pure = summary.pure});
}

void ShardedForest::wait(ShardTree& tree, const OpenNode& node) {
  TableNode& known = tree.table.nodes[node.place];
  known.known = known.pure || !may_split(node);
  if (known.known) return;
  OpenNode& waiting = tree.open[node.place] = node;
  waiting.n_drawn = features_at_once(data_.features, options_);
}

bool ShardedForest::may_split(const OpenNode& node) const {
  return node.all.n_documents >= options_.min_samples_split && node.depth < options_.max_depth &&
         node.all.n_documents >= 2 * options_.min_samples_leaf;
}

bool ShardedForest::plan() {
  searched_.clear();
  moved_.clear();
  std::vector<Place> large, small;
  for (int32_t t = 0; t < std::ssize(trees_); ++t) {
    ShardTree& tree = trees_[t];
    for (const int32_t node : wanted_nodes(tree)) {
      const bool moves = tree.open.at(node).all.n_rows <= growth_.most_moved_rows;
      (moves ? small : large).push_back({t, node});
    }
  }
  plan_searches(large);
  if (searched_.empty()) plan_moves(small);
  set_owners();
  return !searched_.empty() || !moved_.empty();
}

std::vector<int32_t> ShardedForest::wanted_nodes(ShardTree& tree) const {
  if (tree.complete) return {};
  std::vector<int32_t> wanted;
  if (options_.max_leaf_nodes != kUnlimited) {
    wanted = missing_nodes(tree.table, options_, tree.seed);
  } else {
    for (const auto& [place, node] : tree.open) wanted.push_back(place);
  }
  if (wanted.empty()) {
    tree.complete = true;
    tree.open.clear();
    tree.rows = {};
  }
  return wanted;
}

void ShardedForest::plan_searches(const std::vector<Place>& wanted) {
  n_cells_ = 0;
  for (const Place& place : wanted) {
    const OpenNode& node = node_at(place);
    Search search{place, drawn_features(data_.features, node.key, node.n_drawn), n_cells_};
    const int64_t size = histogram_size(data_.features, layout_, node, search.drawn);
    if (n_cells_ > 0 && n_cells_ + size > growth_.most_cells) break;
    n_cells_ += size;
    searched_.push_back(std::move(search));
  }
}

void ShardedForest::plan_moves(const std::vector<Place>& wanted) {
  const int64_t row_size = packed_row_size(data_, distinct_);
  std::vector<int64_t> load(growth_.size);
  for (const Place& place : wanted) {
    const int64_t size = row_size * node_at(place).all.n_rows;
    const auto least = std::min_element(load.begin(), load.end());
    if (*least > 0 && *least + size > growth_.most_moved_bytes) break;
    *least += size;
    moved_.push_back({place, static_cast<int>(least - load.begin())});
  }
}

// A worker searches neighbouring nodes: about as many cells as any other.
void ShardedForest::set_owners() {
  bounds_.assign(growth_.size + 1, n_cells_);
  for (size_t i = searched_.size(); i-- > 0;) {
    Search& search = searched_[i];
    search.owner = static_cast<int>(search.begin * growth_.size / std::max<int64_t>(n_cells_, 1));
    for (int rank = 0; rank <= search.owner; ++rank) bounds_[rank] = search.begin;
  }
  bounds_[0] = 0;
}

std::vector<int64_t> ShardedForest::histograms() const {
  std::vector<int64_t> cells(static_cast<size_t>(n_cells_));
  struct Part {
    const Search* search;
    int32_t feature;  // -1: the squares
    int64_t begin;
  };
  std::vector<Part> parts;
  double n_rows = 0;
  for (const Search& search : searched_) {
    const OpenNode& node = node_at(search.place);
    int64_t begin = search.begin;
    for (int32_t i = node.n_constant; i < node.n_drawn; ++i) {
      parts.push_back({&search, search.drawn[i], begin});
      begin += int64_t{data_.features.binned->n_bins(search.drawn[i]) + 1} * layout_.stride;
      n_rows += static_cast<double>(node.end - node.begin);
    }
    if (layout_.target >= 0 && layout_.classes < 0) parts.push_back({&search, -1, begin});
  }
  const double cost = kNanosecondsPerRow * n_rows / static_cast<double>(parts.size() + 1);
  parallel_for(std::ssize(parts), growth_.n_threads, cost, [&](int64_t i) {
    const Part& part = parts[i];
    const OpenNode& node = node_at(part.search->place);
    const ShardRows& rows = trees_[part.search->place.tree].rows;
    if (part.feature < 0) {
      add_squares(data_, rows, node, cells.data() + part.begin);
    } else {
      add_histogram(data_, layout_, rows, node, part.feature, cells.data() + part.begin);
    }
  });
  return cells;
}

std::string ShardedForest::search(const int64_t* histograms, size_t n) const {
  if (static_cast<int64_t>(n) != n_cells_) {
    throw std::invalid_argument("histograms have another length than before they were summed");
  }
  std::vector<SharedSplit> found(searched_.size());
  const double cost = kNanosecondsPerCell * static_cast<double>(n_cells_) /
                      static_cast<double>(searched_.size() + 1);
  parallel_for(
      std::ssize(searched_), growth_.n_threads, cost,
      [&] { return HistogramSearch(data_, options_, layout_); },
      [&](int64_t i, HistogramSearch& search) {
        const Search& one = searched_[i];
        if (one.owner != growth_.rank) return;
        found[i] = search.find(node_at(one.place), histograms + one.begin,
                               trees_[one.place.tree].root.weight);
      });
  ByteWriter message;
  for (size_t i = 0; i < searched_.size(); ++i) {
    if (searched_[i].owner != growth_.rank) continue;
    const SharedSplit& one = found[i];
    SentSplit sent{};
    sent.gain = one.split.gain;
    sent.kind = static_cast<int32_t>(one.kind);
    sent.feature = one.split.feature;
    sent.bin = one.split.bin;
    sent.n_words = static_cast<int32_t>(one.words.size());
    sent.missing_left = one.split.missing_left;
    sent.branch = one.split.branch;
    sent.some_missing = one.some_missing;
    sent.categorical = one.categorical;
    message.put(sent);
    message.put_all(std::span<const uint32_t>(one.words));
  }
  return message.take();
}

void ShardedForest::split(const std::vector<std::string_view>& messages) {
  if (std::ssize(messages) != growth_.size) {
    throw std::invalid_argument("there must be one message of each worker");
  }
  std::vector<SharedSplit> found(searched_.size());
  std::vector<ByteReader> readers = readers_of(messages);
  for (size_t i = 0; i < searched_.size(); ++i) {
    const Search& search = searched_[i];
    found[i] =
        read_split(readers[search.owner], node_at(search.place), *data_.features.binned->bins);
  }
  for (const ByteReader& reader : readers) reader.require_end();
  std::vector<NewNodes> made(searched_.size());
  double n_rows = 0;
  for (const Search& search : searched_) {
    n_rows += static_cast<double>(node_at(search.place).end - node_at(search.place).begin);
  }
  const double cost = kNanosecondsPerRow * n_rows / static_cast<double>(searched_.size() + 1);
  parallel_for(std::ssize(searched_), growth_.n_threads, cost, [&](int64_t i) {
    if (found[i].kind == SharedSplit::Kind::kFound) {
      made[i] = part(searched_[i].place, std::move(found[i]));
    }
  });
  for (size_t i = 0; i < searched_.size(); ++i) {
    const Place& place = searched_[i].place;
    ShardTree& tree = trees_[place.tree];
    if (found[i].kind == SharedSplit::Kind::kMore) {
      OpenNode& node = tree.open.at(place.node);
      node.n_constant = node.n_drawn;
      node.n_drawn = std::min(data_.features.binned->n_features(),
                              node.n_drawn + std::max(node.n_drawn, kFewMoreFeatures));
      continue;
    }
    tree.table.nodes[place.node].known = true;
    tree.open.erase(place.node);
    if (found[i].kind == SharedSplit::Kind::kFound) new_.push_back(std::move(made[i]));
  }
  searched_.clear();
}

// Sorts the rows of a node by its split, each part in its old order.
ShardedForest::NewNodes ShardedForest::part(const Place& place, SharedSplit found) {
  ShardTree& tree = trees_[place.tree];
  const OpenNode& node = tree.open.at(place.node);
  const NodeSplit& split = found.split;
  const int32_t missing = data_.features.binned->missing_bin(split.feature);
  std::vector<int32_t> sides[3];
  visit_codes(data_.features, tree.rows, node, split.feature, [&](int32_t code, int64_t i) {
    int side;
    if (split.branch && code == missing) {
      side = 2;
    } else if (found.categorical) {
      side = !(code == missing ? split.missing_left : has_category(found.words, code));
    } else {
      side = !split.goes_left(code, missing);
    }
    sides[side].push_back(tree.rows.rows[i]);
  });
  NewNodes made;
  made.tree = place.tree;
  made.parent = node;
  int64_t begin = node.begin;
  for (int side = 0; side < (split.branch ? 3 : 2); ++side) {
    std::copy(sides[side].begin(), sides[side].end(), tree.rows.rows.begin() + begin);
    const int64_t end = begin + std::ssize(sides[side]);
    made.ranges.emplace_back(begin, end);
    begin = end;
  }
  made.found = std::move(found);
  return made;
}

std::vector<std::string> ShardedForest::pack() const {
  std::vector<ByteWriter> writers(growth_.size);
  parallel_for(growth_.size, growth_.n_threads, 1e6, [&](int64_t rank) {
    for (const Move& move : moved_) {
      if (move.owner != rank) continue;
      pack_rows(data_, trees_[move.place.tree].rows, node_at(move.place), writers[rank]);
    }
  });
  std::vector<std::string> messages;
  for (ByteWriter& writer : writers) messages.push_back(writer.take());
  return messages;
}

std::string ShardedForest::grow(const std::vector<std::string_view>& messages) const {
  if (std::ssize(messages) != growth_.size) {
    throw std::invalid_argument("there must be one message of each worker");
  }
  std::vector<const Move*> own;
  for (const Move& move : moved_) {
    if (move.owner == growth_.rank) own.push_back(&move);
  }
  std::vector<MovedRows> rows(own.size());
  std::vector<ByteReader> readers = readers_of(messages);
  for (size_t i = 0; i < own.size(); ++i) {
    const NodeSummary& all = node_at(own[i]->place).all;
    for (ByteReader& reader : readers) unpack_rows(data_, distinct_, reader, all, rows[i]);
    if (rows[i].n != all.n_rows || rows[i].n_documents != all.n_documents) {
      throw std::runtime_error("workers have sent fewer rows of a node than they counted");
    }
  }
  for (const ByteReader& reader : readers) reader.require_end();
  std::vector<ByteWriter> grown(own.size());
  const double cost = kNanosecondsPerMovedRow * static_cast<double>(growth_.most_moved_rows);
  parallel_for(
      std::ssize(own), growth_.n_threads, cost, [] { return GrowingTree(); },
      [&](int64_t i, GrowingTree& scratch) {
        const ShardTree& tree = trees_[own[i]->place.tree];
        const OpenNode& node = node_at(own[i]->place);
        const SubTreeRoot place{node.depth, node.key, tree.root.n_documents, tree.root.weight};
        grow_moved(data_, options_, table_, place, std::move(rows[i]), distinct_, scratch,
                   grown[i]);
      });
  std::string message;
  for (ByteWriter& one : grown) message += one.take();
  return message;
}

void ShardedForest::graft(const std::vector<std::string_view>& messages) {
  if (std::ssize(messages) != growth_.size) {
    throw std::invalid_argument("there must be one message of each worker");
  }
  std::vector<ByteReader> readers = readers_of(messages);
  for (const Move& move : moved_) {
    ShardTree& tree = trees_[move.place.tree];
    forests::graft(readers[move.owner], *data_.features.binned->bins, move.place.node, tree.table);
    tree.open.erase(move.place.node);
  }
  for (const ByteReader& reader : readers) reader.require_end();
  moved_.clear();
}

std::vector<Tree> ShardedForest::trees() const {
  std::vector<Tree> result(trees_.size());
  parallel_for(std::ssize(trees_), growth_.n_threads, 1e5, [&](int64_t i) {
    result[i] = finished_tree(trees_[i].table, options_, trees_[i].seed);
  });
  return result;
}

}  // namespace rankgrove::forests
