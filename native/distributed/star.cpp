#include "distributed/star.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace rankgrove {
namespace {

// The hub speaks first: it knows whom all are waiting for.
constexpr double kPatienceWithHub = 1.25;
constexpr double kMoreSecondsWithHub = 2.0;

std::string_view bytes_of(const int64_t* values, size_t n) {
  return {reinterpret_cast<const char*>(values), n * sizeof(int64_t)};
}

// Several texts in one: their lengths, then one after the other.
std::string joined(const std::vector<std::string_view>& parts) {
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

std::vector<std::string> owned(const std::vector<std::string_view>& parts) {
  return {parts.begin(), parts.end()};
}

}  // namespace

// A message under way: counted and timed. What goes wrong in it ends the communicator, and the hub
// tells the others.
class Star::Message {
 public:
  explicit Message(Star& star) : star_(star), start_(std::chrono::steady_clock::now()) {
    if (star.size_ > 1 && star.peers_.empty()) {
      throw std::runtime_error("this communicator has been closed");
    }
    if (star.busy_.exchange(true)) {
      throw std::runtime_error("two threads use one communicator at the same time");
    }
    ++star.number_;
  }
  ~Message() {
    using Seconds = std::chrono::duration<double>;
    star_.traffic_.messages += 1;
    star_.traffic_.seconds_waiting += Seconds(std::chrono::steady_clock::now() - start_).count();
    star_.busy_ = false;
  }

  template <typename Body>
  auto run(Body&& body) {
    try {
      return body();
    } catch (const WorkerGone& gone) {
      if (star_.rank_ == 0) send_abort(star_.peers_, gone);
      star_.close();
      throw;
    } catch (...) {  // Ctrl-C in the middle of a frame: nobody could go on from here
      star_.close();
      throw;
    }
  }

 private:
  Star& star_;
  std::chrono::steady_clock::time_point start_;
};

Star::Star(int rank, int size, std::vector<Peer> peers, double patience)
    : rank_(rank), size_(size), peers_(std::move(peers)), patience_(patience) {
  if (rank_ != 0) patience_ = kPatienceWithHub * patience + kMoreSecondsWithHub;
}

Star::~Star() { close(); }

void Star::close() {
  for (Peer& peer : peers_) ::close(peer.fd);
  peers_.clear();
}

void Star::abort(const std::string& reason) {
  send_abort(peers_, {reason, rank_, "", true});
  close();
}

FrameHeader Star::header(Kind kind, size_t length) const { return {kind, number_, length}; }

void Star::move(std::vector<Outgoing> out, std::vector<Incoming>& in) {
  move_frames(out, in, patience_);
  for (const Outgoing& frame : out) traffic_.bytes_sent += static_cast<int64_t>(frame.sent);
  for (const Incoming& frame : in) traffic_.bytes_received += static_cast<int64_t>(frame.received);
}

// Sends a frame to the hub and returns its answer.
std::string Star::ask_hub(Kind kind, std::string_view own) {
  std::vector<Incoming> in{{&peers_[0], header(kind, 0)}};
  move({{&peers_[0], header(kind, own.size()), own}}, in);
  return std::move(in[0].payload);
}

// The hub's side: what all workers sent, in order of rank, its own first.
std::vector<std::string> Star::collect(Kind kind, std::string_view own) {
  std::vector<Incoming> in;
  for (const Peer& peer : peers_) in.push_back({&peer, header(kind, 0)});
  move({}, in);
  std::vector<std::string> parts{std::string(own)};
  for (Incoming& frame : in) parts.push_back(std::move(frame.payload));
  return parts;
}

// The hub's answers to the workers, one for each.
void Star::answer(Kind kind, const std::vector<std::string_view>& payloads) {
  std::vector<Outgoing> out;
  for (size_t i = 0; i < peers_.size(); ++i) {
    out.push_back({&peers_[i], header(kind, payloads[i].size()), payloads[i]});
  }
  std::vector<Incoming> none;
  move(std::move(out), none);
}

template <typename Combine>
void Star::reduce(Kind kind, int64_t* values, size_t n, Combine&& combine) {
  Message message(*this);
  message.run([&] {
    const size_t length = n * sizeof(int64_t);
    if (rank_ != 0) {
      std::vector<Incoming> in{{&peers_[0], header(kind, length), reinterpret_cast<char*>(values)}};
      move({{&peers_[0], header(kind, length), bytes_of(values, n)}}, in);
      return;
    }
    received_.resize(peers_.size());
    std::vector<Incoming> in;
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (received_[i].size() < n) received_[i].resize(n);
      in.push_back(
          {&peers_[i], header(kind, length), reinterpret_cast<char*>(received_[i].data())});
    }
    move({}, in);
    for (const std::vector<int64_t>& theirs : received_) combine(theirs.data());
    answer(kind, std::vector<std::string_view>(peers_.size(), bytes_of(values, n)));
  });
}

void Star::sum(int64_t* values, size_t n) {
  reduce(Kind::kSum, values, n, [=](const int64_t* theirs) {
    for (size_t i = 0; i < n; ++i) {
      values[i] =
          static_cast<int64_t>(static_cast<uint64_t>(values[i]) + static_cast<uint64_t>(theirs[i]));
    }
  });
}

void Star::maximum(int64_t* values, size_t n) {
  reduce(Kind::kMaximum, values, n, [=](const int64_t* theirs) {
    for (size_t i = 0; i < n; ++i) values[i] = std::max(values[i], theirs[i]);
  });
}

std::vector<std::string> Star::gather(std::string_view own) {
  Message message(*this);
  return message.run([&] {
    const auto n = static_cast<size_t>(size_);
    if (rank_ != 0) return owned(parted(ask_hub(Kind::kGather, own), n));
    std::vector<std::string> parts = collect(Kind::kGather, own);
    const std::string whole = joined({parts.begin(), parts.end()});
    answer(Kind::kGather, std::vector<std::string_view>(peers_.size(), whole));
    return parts;
  });
}

std::string Star::broadcast(std::string_view own) {
  Message message(*this);
  return message.run([&] {
    if (rank_ == 0) {
      answer(Kind::kBroadcast, std::vector<std::string_view>(peers_.size(), own));
      return std::string(own);
    }
    std::vector<Incoming> in{{&peers_[0], header(Kind::kBroadcast, 0)}};
    move({}, in);
    return std::move(in[0].payload);
  });
}

std::vector<std::string> Star::exchange(const std::vector<std::string_view>& parts) {
  Message message(*this);
  return message.run([&] {
    const auto n = static_cast<size_t>(size_);
    const std::string own = joined(parts);
    if (rank_ != 0) return owned(parted(ask_hub(Kind::kExchange, own), n));
    const std::vector<std::string> senders = collect(Kind::kExchange, own);
    std::vector<std::vector<std::string_view>> by_receiver(n);
    for (const std::string& sender : senders) {
      const std::vector<std::string_view> theirs = parted(sender, n);
      for (size_t i = 0; i < n; ++i) by_receiver[i].push_back(theirs[i]);
    }
    std::vector<std::string> answers;
    for (size_t i = 1; i < n; ++i) answers.push_back(joined(by_receiver[i]));
    answer(Kind::kExchange, {answers.begin(), answers.end()});
    return owned(by_receiver[0]);
  });
}

}  // namespace rankgrove
