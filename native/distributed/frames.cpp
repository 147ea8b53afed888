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

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

WorkerGone lost(const Peer& peer, const std::string& why) {
  return {name_of(peer) + " is lost: " + why, peer.rank, peer.address, false};
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Sends what the socket takes; false if the peer is lost.
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
  throw WorkerGone(
      name_of(*frame.peer) + " is out of step: it sent message " + std::to_string(got.number) +
          " of kind " + std::to_string(static_cast<uint32_t>(got.kind)) + " with " +
          std::to_string(got.length) + " bytes where message " + std::to_string(wanted.number) +
          " of kind " + std::to_string(static_cast<uint32_t>(wanted.kind)) + " was due",
      frame.peer->rank, frame.peer->address, true);
}

// Throws what an abort frame tells. A worker that speaks of itself is known by its connection.
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
    if (in_header && frame.received == kHead) check_header(frame);
  }
  if (frame.header.kind == Kind::kAbort) throw_abort(frame);
  return true;
}

// Whether a peer that has sent its frame, and sends nothing before the answer, is there.
bool still_there(const Peer& peer) {
  char byte;
  return recv(peer.fd, &byte, 1, kFlags | MSG_PEEK) < 0 && would_block(errno);
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

void move_frames(std::vector<Outgoing>& out, std::vector<Incoming>& in, double patience) {
  std::optional<WorkerGone> gone;  // of a peer that no longer takes what it is sent
  std::vector<uint8_t> given_up(out.size(), 0);
  Clock::time_point moved = Clock::now();
  for (size_t before = 0;;) {
    std::vector<pollfd> waiting;
    const Peer* late = nullptr;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i].done() || given_up[i]) continue;
      if (!advance(out[i])) {
        given_up[i] = 1;
        if (!gone) gone = lost(*out[i].peer, "it closed the connection");
        continue;
      }
      if (!out[i].done()) waiting.push_back({out[i].peer->fd, POLLOUT, 0});
      if (!out[i].done() && !late) late = out[i].peer;
    }
    for (Incoming& frame : in) {
      // What a peer sent before it disconnected is still read.
      if (!(frame.done() ? still_there(*frame.peer) : advance(frame))) {
        throw lost(*frame.peer, "it closed the connection");
      }
      waiting.push_back({frame.peer->fd, POLLIN, 0});
      if (!frame.done() && !late) late = frame.peer;
    }
    if (!late) break;
    const size_t after = bytes_moved(out) + bytes_moved(in);
    if (after != before) moved = Clock::now();
    before = after;
    if (seconds_since(moved) > patience) {
      throw lost(*late, "it kept the others waiting for more than " +
                            std::to_string(static_cast<int64_t>(patience)) + " s");
    }
    poll(waiting.data(), waiting.size(), kLookMilliseconds);
    if (seconds_since(moved) > 0.001 * kLookMilliseconds) note_work(1e6 * kLookMilliseconds);
  }
  if (gone) throw *gone;
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
