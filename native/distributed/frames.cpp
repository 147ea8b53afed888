#include "distributed/frames.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "common/interrupt.hpp"

namespace rankgrove {
namespace {

#ifdef MSG_NOSIGNAL
constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
#else
constexpr int kFlags = MSG_DONTWAIT;  // Python ignores the signal
#endif

constexpr int kLookMilliseconds = 100;           // between looks for Ctrl-C
constexpr size_t kGrowth = size_t{16} << 20;     // bytes that a payload grows by
constexpr size_t kMostReason = size_t{1} << 16;  // bytes of an abort frame
constexpr double kFarewellSeconds = 1.0;
// Part of the patience after which others are notified that this worker waits.
constexpr double kNotifyShare = 0.125;
// The patience with a worker that waits itself.
constexpr double kPatienceWithWaiting = 1.25;
constexpr double kMoreSecondsWithWaiting = 2.0;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

WorkerGone lost(const Peer& peer, const std::string& why) {
  return {name_of(peer) + " is lost: " + why, peer.rank, peer.address, false};
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Sends as much as the socket accepts; false if the peer is lost.
bool advance(Outgoing& frame) {
  while (!frame.done()) {
    constexpr size_t kHead = sizeof(FrameHeader);
    iovec parts[2];
    int n_parts = 0;
    if (frame.sent < kHead) {
      parts[n_parts++] = {reinterpret_cast<char*>(&frame.header) + frame.sent, kHead - frame.sent};
    }
    const size_t offset = frame.sent < kHead ? 0 : frame.sent - kHead;
    if (frame.payload.size() > offset) {
      parts[n_parts++] = {const_cast<char*>(frame.payload.data()) + offset,
                          frame.payload.size() - offset};
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = n_parts;
    const ssize_t n = sendmsg(frame.peer->fd, &message, kFlags);
    if (n < 0) return would_block(errno);
    frame.sent += static_cast<size_t>(n);
  }
  return true;
}

void check_header(const Incoming& frame) {
  const FrameHeader &got = frame.header, &wanted = frame.expected;
  const bool right = got.kind == wanted.kind && got.number == wanted.number;
  if (right && (!frame.target || got.length == wanted.length)) return;
  if (got.kind == Kind::kAbort && got.length <= kMostReason) return;
  throw out_of_step(*frame.peer, ": it sent message " + std::to_string(got.number) + " of kind " +
                                     std::to_string(static_cast<uint32_t>(got.kind)) + " with " +
                                     std::to_string(got.length) + " bytes where message " +
                                     std::to_string(wanted.number) + " of kind " +
                                     std::to_string(static_cast<uint32_t>(wanted.kind)) +
                                     " was due");
}

// Throws the error of an abort frame. The address of a worker that reports itself is that of its
// connection.
[[noreturn]] void throw_abort(const Incoming& frame) {
  const std::string& payload = frame.payload;
  int32_t rank = -1;
  uint8_t failed = 0;
  if (payload.size() >= 5) {
    std::memcpy(&rank, payload.data(), 4);
    failed = static_cast<uint8_t>(payload[4]);
  }
  const std::string text = payload.size() > 5 ? payload.substr(5) : "";
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string address = text.substr(0, end);
  const std::string message = end < text.size() ? text.substr(end + 1) : "";
  if (rank != frame.peer->rank) throw WorkerGone(message, rank, address, failed != 0);
  throw WorkerGone(name_of(*frame.peer) + " gave up: " + message, rank, frame.peer->address,
                   failed != 0);
}

// Receives what is there; false if the peer is lost.
bool advance(Incoming& frame) {
  constexpr size_t kHead = sizeof(FrameHeader);
  while (!frame.done()) {
    char* place = nullptr;
    size_t capacity = 0;
    if (frame.received < kHead) {
      place = reinterpret_cast<char*>(&frame.header) + frame.received;
      capacity = kHead - frame.received;
    } else {
      const size_t offset = frame.received - kHead;
      const bool to_target = frame.target && frame.header.kind != Kind::kAbort;
      capacity = std::min<uint64_t>(frame.header.length - offset, kGrowth);
      if (!to_target && frame.payload.size() < offset + capacity)
        frame.payload.resize(offset + capacity);
      place = (to_target ? frame.target : frame.payload.data()) + offset;
    }
    const ssize_t n = recv(frame.peer->fd, place, capacity, kFlags);
    if (n == 0) return false;
    if (n < 0) return would_block(errno);
    const bool in_header = frame.received < kHead;
    frame.received += static_cast<size_t>(n);
    if (!in_header || frame.received < kHead) continue;
    if (frame.header.kind == Kind::kWaiting && frame.header.length == 0) {
      frame.peer->waits_in = frame.header.number;
      frame.received = 0;
      frame.header = {};
    } else {
      check_header(frame);
    }
  }
  if (frame.header.kind == Kind::kAbort) throw_abort(frame);
  return true;
}

// Looks whether a peer from which nothing is due now is lost, or has sent an abort frame.
void look_after(const Peer& peer) {
  if (peer.has_left) return;
  FrameHeader next;
  ssize_t n;
  while ((n = recv(peer.fd, &next, sizeof(next), kFlags | MSG_PEEK)) == ssize_t{sizeof(next)}) {
    if (next.kind == Kind::kLeaving) {
      peer.has_left = true;
      return;
    }
    if (next.kind == Kind::kWaiting && next.length == 0) {
      recv(peer.fd, &next, sizeof(next), kFlags);
      peer.waits_in = next.number;
      continue;
    }
    if (next.kind != Kind::kAbort || next.length > kMostReason) return;
    Incoming frame{&peer, next};
    const Clock::time_point start = Clock::now();
    while (advance(frame) && seconds_since(start) < kFarewellSeconds) {
      pollfd waiting{peer.fd, POLLIN, 0};
      poll(&waiting, 1, 50);
    }
    return;
  }
  if (n == 0 || (n < 0 && !would_block(errno))) throw lost(peer, "it closed the connection");
}

// Tells all others that this worker waits, unless they are sent something else.
void tell_of_waiting(const std::vector<Outgoing>& out, const MessageContext& context) {
  for (const Peer& peer : context.peers) {
    const bool busy = std::ranges::any_of(
        out, [&](const Outgoing& frame) { return frame.peer == &peer && !frame.done(); });
    if (busy) continue;
    Outgoing frame{&peer, {Kind::kWaiting, context.number, 0}, {}};
    while (advance(frame) && !frame.done() && frame.sent > 0) {  // not half of it
      pollfd waiting{peer.fd, POLLOUT, 0};
      poll(&waiting, 1, kLookMilliseconds);
    }
  }
}

template <typename Frames>
size_t bytes_moved(const Frames& frames) {
  size_t sum = 0;
  for (const auto& frame : frames) {
    if constexpr (std::is_same_v<Frames, std::vector<Outgoing>>) {
      sum += frame.sent;
    } else {
      sum += frame.received;
    }
  }
  return sum;
}

}  // namespace

std::string name_of(const Peer& peer) {
  return "worker " + std::to_string(peer.rank) + " (" + peer.address + ")";
}

WorkerGone out_of_step(const Peer& peer, const std::string& details) {
  return {name_of(peer) + " is out of step" + details, peer.rank, peer.address, true};
}

void move_frames(std::vector<Outgoing>& out, std::vector<Incoming>& in,
                 const MessageContext& context) {
  std::optional<WorkerGone> gone;  // of a peer that no longer takes what it is sent
  std::vector<uint8_t> given_up(out.size(), 0);
  Clock::time_point moved = Clock::now();
  bool notified = false;
  for (size_t before = 0;;) {
    std::vector<pollfd> waiting;
    const Peer* late = nullptr;  // one that does not wait itself, if there is one
    const auto wait_for = [&](const Peer& peer, short events) {
      waiting.push_back({peer.fd, events, 0});
      if (!late || (late->waits_in == context.number && peer.waits_in != context.number)) {
        late = &peer;
      }
    };
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].done() || given_up[i]) continue;
      if (!advance(out[i])) {
        given_up[i] = 1;
        if (!gone) gone = lost(*out[i].peer, "it closed the connection");
      } else if (!out[i].done()) {
        wait_for(*out[i].peer, POLLOUT);
      }
    }
    for (Incoming& frame : in) {
      if (frame.done()) continue;
      // What a peer sent before it disconnected is still read.
      if (!advance(frame)) throw lost(*frame.peer, "it closed the connection");
      if (!frame.done()) wait_for(*frame.peer, POLLIN);
    }
    if (!late) break;
    const size_t after = bytes_moved(out) + bytes_moved(in);
    if (after != before) moved = Clock::now();
    before = after;
    const double waited = seconds_since(moved);
    const double patience = late->waits_in == context.number
                                ? kPatienceWithWaiting * context.patience + kMoreSecondsWithWaiting
                                : context.patience;
    if (waited > patience) {
      throw lost(*late, "it kept the others waiting for more than " +
                            std::to_string(static_cast<int64_t>(patience)) + " s");
    }
    if (!notified && waited > kNotifyShare * context.patience) {
      tell_of_waiting(out, context);
      notified = true;
    }
    if (waited > 0.001 * kLookMilliseconds) {
      for (const Peer& peer : context.peers) {
        const bool due = std::ranges::any_of(
            in, [&](const Incoming& frame) { return frame.peer == &peer && !frame.done(); });
        if (!due) look_after(peer);
      }
    }
    poll(waiting.data(), waiting.size(), kLookMilliseconds);
    if (waited > 0.001 * kLookMilliseconds) note_work(1e6 * kLookMilliseconds);
  }
  if (gone) throw *gone;
}

void send_leaving(const std::vector<Peer>& peers) noexcept {
  for (const Peer& peer : peers) {
    Outgoing frame{&peer, {Kind::kLeaving, 0, 0}, {}};
    advance(frame);
  }
}

std::string abort_payload(const WorkerGone& gone) {
  std::string payload(5, '\0');
  const auto rank = static_cast<int32_t>(gone.rank);
  std::memcpy(payload.data(), &rank, 4);
  payload[4] = gone.failed ? 1 : 0;
  payload += gone.address + "\n" + gone.what();
  payload.resize(std::min(payload.size(), kMostReason));
  return payload;
}

void send_abort(const std::vector<Peer>& peers, const WorkerGone& gone) noexcept {
  try {
    const std::string payload = abort_payload(gone);
    const Clock::time_point start = Clock::now();
    std::vector<Outgoing> out;
    for (const Peer& peer : peers) {
      if (peer.rank == gone.rank || peer.fd < 0) continue;
      out.push_back({&peer, {Kind::kAbort, 0, payload.size()}, payload});
    }
    for (Outgoing& frame : out) {
      while (!frame.done() && advance(frame) && seconds_since(start) < kFarewellSeconds) {
        pollfd waiting{frame.peer->fd, POLLOUT, 0};
        if (!frame.done()) poll(&waiting, 1, 50);
      }
      shutdown(frame.peer->fd, SHUT_WR);
    }
    std::vector<char> rest(65536);
    for (const Outgoing& frame : out) {
      while (seconds_since(start) < kFarewellSeconds) {
        const ssize_t n = recv(frame.peer->fd, rest.data(), rest.size(), kFlags);
        if (n == 0 || (n < 0 && !would_block(errno))) break;
        pollfd waiting{frame.peer->fd, POLLIN, 0};
        if (n < 0) poll(&waiting, 1, 50);
      }
    }
  } catch (...) {  // no memory: the peers will see the connection close
  }
}

}  // namespace rankgrove
