#include "distributed/mesh.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace rankgrove {
namespace {

// Up to this many values of all workers, everybody gets all of them and combines for itself: half
// the steps of a reduce-scatter and an all-gather.
constexpr size_t kFewValues = 8192;

std::string_view bytes_of(const int64_t* values, size_t n) {
  return {reinterpret_cast<const char*>(values), n * sizeof(int64_t)};
}

// Several texts in one: their lengths, then one after the other.
template <typename Parts>
std::string joined(const Parts& parts) {
  std::string whole;
  for (const std::string_view part : parts) {
    const uint64_t length = part.size();
    whole.append(reinterpret_cast<const char*>(&length), sizeof(length));
  }
  for (const std::string_view part : parts) whole.append(part);
  return whole;
}

// The inverse, for so many parts, as views of `whole`.
std::vector<std::string_view> parted(std::string_view whole, size_t n) {
  const auto wrong = [] { return std::runtime_error("a message between workers is damaged"); };
  if (whole.size() / sizeof(uint64_t) < n) throw wrong();
  std::vector<std::string_view> parts;
  std::string_view rest = whole.substr(n * sizeof(uint64_t));
  for (size_t i = 0; i < n; ++i) {
    uint64_t length = 0;
    std::memcpy(&length, whole.data() + i * sizeof(length), sizeof(length));
    if (length > rest.size()) throw wrong();
    parts.push_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (!rest.empty()) throw wrong();
  return parts;
}

struct Add {
  void operator()(int64_t& own, int64_t theirs) const {
    own = static_cast<int64_t>(static_cast<uint64_t>(own) + static_cast<uint64_t>(theirs));
  }
};

struct Maximum {
  void operator()(int64_t& own, int64_t theirs) const { own = std::max(own, theirs); }
};

template <typename Combine>
void combine_all(int64_t* own, const int64_t* theirs, size_t n, Combine combine) {
  for (size_t i = 0; i < n; ++i) combine(own[i], theirs[i]);
}

}  // namespace

// A message under way: counted and timed. What goes wrong in it ends the communicator, and the
// others are notified.
class Mesh::Message {
 public:
  explicit Message(Mesh& mesh) : mesh_(mesh), start_(std::chrono::steady_clock::now()) {
    if (mesh.size_ > 1 && mesh.peers_.empty()) {
      throw std::runtime_error("this communicator has been closed");
    }
    if (mesh.busy_.exchange(true)) {
      throw std::runtime_error("two threads use one communicator at the same time");
    }
    ++mesh.number_;
  }
  ~Message() {
    using Seconds = std::chrono::duration<double>;
    mesh_.traffic_.messages += 1;
    mesh_.traffic_.seconds_waiting += Seconds(std::chrono::steady_clock::now() - start_).count();
    mesh_.busy_ = false;
  }

  template <typename Body>
  auto run(Body&& body) {
    try {
      return body();
    } catch (const WorkerGone& gone) {
      send_abort(mesh_.peers_, gone);
      mesh_.disconnect();
      throw;
    } catch (...) {  // Ctrl-C in the middle of a frame: nobody could go on from here
      mesh_.disconnect();
      throw;
    }
  }

 private:
  Mesh& mesh_;
  std::chrono::steady_clock::time_point start_;
};

Mesh::Mesh(int rank, int size, std::vector<Peer> peers, double patience)
    : rank_(rank),
      size_(size),
      peers_(std::move(peers)),
      patience_(patience),
      steps_(halving_steps(rank, size)) {}

Mesh::~Mesh() { close(); }

void Mesh::close() {
  send_leaving(peers_);
  disconnect();
}

void Mesh::disconnect() {
  for (Peer& peer : peers_) ::close(peer.fd);
  peers_.clear();
}

void Mesh::abort(const std::string& reason) {
  send_abort(peers_, {reason, rank_, "", true});
  disconnect();
}

void Mesh::move(std::vector<Outgoing> out, std::vector<Incoming>& in) {
  move_frames(out, in, {peers_, number_, patience_});
  traffic_.frames_sent += std::ssize(out);
  for (const Outgoing& frame : out) traffic_.bytes_sent += static_cast<int64_t>(frame.sent);
  for (const Incoming& frame : in) traffic_.bytes_received += static_cast<int64_t>(frame.received);
}

// The reduce-scatter. Extra values belong to all parts, and everybody has the same for each of its
// half's: they go along with every frame.
template <typename Combine>
void Mesh::scatter(Kind kind, int64_t* values, std::span<const size_t> bounds, int64_t* extra,
                   size_t n_extra, Combine&& combine) {
  for (const auto& [own, other, down, from] : steps_) {
    const size_t n_out = bounds[other.end] - bounds[other.begin];
    const size_t n_in = bounds[own.end] - bounds[own.begin];
    std::string_view payload = bytes_of(values + bounds[other.begin], n_out);
    if (n_extra > 0) {
      sent_.assign(values + bounds[other.begin], values + bounds[other.end]);
      sent_.insert(sent_.end(), extra, extra + n_extra);
      payload = bytes_of(sent_.data(), sent_.size());
    }
    std::vector<Incoming> in;
    if (received_.size() < from.size()) received_.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      if (received_[i].size() < n_in + n_extra) received_[i].resize(n_in + n_extra);
      in.push_back({&peer(from[i]), header(kind, (n_in + n_extra) * sizeof(int64_t)),
                    reinterpret_cast<char*>(received_[i].data())});
    }
    move({{&peer(down), header(kind, payload.size()), payload}}, in);
    for (size_t i = 0; i < from.size(); ++i) {
      combine_all(values + bounds[own.begin], received_[i].data(), n_in, combine);
      combine_all(extra, received_[i].data() + n_in, n_extra, combine);
    }
  }
}

// The all-gather of values whose place everybody knows.
void Mesh::spread(Kind kind, int64_t* values, std::span<const size_t> bounds) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto& [own, other, down, from] = *step;
    const std::string_view payload =
        bytes_of(values + bounds[own.begin], bounds[own.end] - bounds[own.begin]);
    std::vector<Outgoing> out;
    for (const int rank : from) out.push_back({&peer(rank), header(kind, payload.size()), payload});
    const size_t length = (bounds[other.end] - bounds[other.begin]) * sizeof(int64_t);
    std::vector<Incoming> in{
        {&peer(down), header(kind, length), reinterpret_cast<char*>(values + bounds[other.begin])}};
    move(std::move(out), in);
  }
}

std::vector<std::string> Mesh::gather_parts(Kind kind, std::string_view own_part) {
  std::vector<std::string> parts(size_);
  parts[rank_] = own_part;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto& [own, other, down, from] = *step;
    const std::string payload =
        from.empty() ? "" : joined(std::span(parts).subspan(own.begin, own.end - own.begin));
    std::vector<Outgoing> out;
    for (const int rank : from) out.push_back({&peer(rank), header(kind, payload.size()), payload});
    std::vector<Incoming> in{{&peer(down), header(kind, 0)}};
    move(std::move(out), in);
    const auto theirs = parted(in[0].payload, other.end - other.begin);
    std::copy(theirs.begin(), theirs.end(), parts.begin() + other.begin);
  }
  return parts;
}

template <typename Combine>
void Mesh::reduce(Kind kind, int64_t* values, size_t n, Combine&& combine) {
  Message message(*this);
  message.run([&] {
    const auto n_workers = static_cast<size_t>(size_);
    if (n * n_workers > kFewValues) {
      std::vector<size_t> bounds;
      for (size_t i = 0; i <= n_workers; ++i) bounds.push_back(n * i / n_workers);
      scatter(kind, values, bounds, nullptr, 0, combine);
      spread(kind, values, bounds);
      return;
    }
    const std::vector<std::string> parts = gather_parts(kind, bytes_of(values, n));
    std::vector<int64_t> theirs(n);
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      if (parts[rank].size() != n * sizeof(int64_t)) throw out_of_step(peer(rank));
      std::ranges::copy(parts[rank], reinterpret_cast<char*>(theirs.data()));
      combine_all(values, theirs.data(), n, combine);
    }
  });
}

void Mesh::sum(int64_t* values, size_t n) { reduce(Kind::kSum, values, n, Add{}); }

void Mesh::maximum(int64_t* values, size_t n) { reduce(Kind::kMaximum, values, n, Maximum{}); }

void Mesh::sum_scatter(int64_t* values, std::span<const size_t> bounds, int64_t* extra,
                       size_t n_extra) {
  Message message(*this);
  message.run([&] { scatter(Kind::kSumScatter, values, bounds, extra, n_extra, Add{}); });
}

std::vector<std::string> Mesh::gather(std::string_view own) {
  Message message(*this);
  return message.run([&] { return gather_parts(Kind::kGather, own); });
}

// All wait for all, as in the other operations: then nobody is far ahead.
std::string Mesh::broadcast(std::string_view own) {
  Message message(*this);
  return message.run(
      [&] { return std::move(gather_parts(Kind::kBroadcast, rank_ == 0 ? own : "")[0]); });
}

std::vector<std::string> Mesh::exchange(const std::vector<std::string_view>& parts) {
  Message message(*this);
  return message.run([&] {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (int i = 1; i < size_; ++i) {  // everybody begins with another one
      const Peer &next = peer((rank_ + i) % size_), &last = peer((rank_ + size_ - i) % size_);
      const std::string_view part = parts[next.rank];
      out.push_back({&next, header(Kind::kExchange, part.size()), part});
      in.push_back({&last, header(Kind::kExchange, 0)});
    }
    move(std::move(out), in);
    std::vector<std::string> received(size_);
    received[rank_] = parts[rank_];
    for (Incoming& frame : in) received[frame.peer->rank] = std::move(frame.payload);
    return received;
  });
}

}  // namespace rankgrove
