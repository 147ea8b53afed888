// Frames of bytes between workers, which are sent and received at the same time without blocking.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rankgrove {

// A connected, authenticated socket to another worker.
struct Peer {
  int fd = -1;
  int rank = -1;
  std::string address;
};

// Another worker is gone: lost, or (`failed`) ended by an error of its own.
struct WorkerGone : std::runtime_error {
  WorkerGone(const std::string& message, int gone_rank, std::string gone_address, bool has_failed)
      : std::runtime_error(message),
        rank(gone_rank),
        address(std::move(gone_address)),
        failed(has_failed) {}
  int rank;
  std::string address;
  bool failed;
};

std::string name_of(const Peer& peer);  // "worker 2 (10.0.0.7:41234)"

enum class Kind : uint32_t { kSum = 1, kMaximum, kGather, kBroadcast, kExchange, kAbort };

struct FrameHeader {
  Kind kind;
  uint32_t number;  // of the message, counted by every worker
  uint64_t length;  // bytes that follow
};

// A frame on its way out; the payload belongs to the caller.
struct Outgoing {
  const Peer* peer;
  FrameHeader header;
  std::string_view payload;
  size_t sent = 0;  // of header and payload

  bool done() const { return sent == sizeof(FrameHeader) + payload.size(); }
};

// A frame on its way in. With `target`, its payload must have exactly `length` bytes and is written
// there; else it may have any length and grows as it comes, so that a length alone takes no memory.
struct Incoming {
  const Peer* peer;
  FrameHeader expected;  // kind and number, and the length if there is a target
  char* target = nullptr;
  FrameHeader header{};
  size_t received = 0;
  std::string payload{};

  bool done() const {
    return received >= sizeof(FrameHeader) && received == sizeof(FrameHeader) + header.length;
  }
};

// Moves all frames, as the sockets allow. Throws WorkerGone when a peer is lost, has sent an abort
// frame or another frame than expected, or when nothing moves for `patience` seconds; what goes out
// to other peers is finished before.
void move_frames(std::vector<Outgoing>& out, std::vector<Incoming>& in, double patience);

// An abort frame: which worker is gone, and why.
std::string abort_payload(const WorkerGone& gone);

// Sends an abort frame to all peers, as far as they take it within a second, and waits that long
// for them to leave: closing at once could destroy what they have not read.
void send_abort(const std::vector<Peer>& peers, const WorkerGone& gone) noexcept;

}  // namespace rankgrove
