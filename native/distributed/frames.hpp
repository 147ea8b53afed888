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
  mutable uint32_t waits_in = 0;  // the last message in which it said that it waits for others
  mutable bool has_left = false;  // it takes part in no more messages
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

enum class Kind : uint32_t {
  kSum = 1,
  kMaximum,
  kSumScatter,
  kGather,
  kBroadcast,
  kExchange,
  kWaiting,  // "I wait for others in this message"; may come between any two frames
  kLeaving,  // "I need no more messages"
  kAbort,
};

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

// The message that frames belong to, and the connections to all workers that take part.
struct MessageContext {
  const std::vector<Peer>& peers;
  uint32_t number;
  double patience;  // seconds
};

// Moves all frames, as the sockets allow. Throws WorkerGone when a peer of a frame is lost, when
// any peer has sent an abort frame, when one has sent another frame than expected, or when nothing
// moves for `patience` seconds; what goes out to other peers is finished before.
//
// Who is late? Most workers wait for one that waits itself. After a part of the patience, a worker
// tells all others that it waits; whoever waits for such a worker is more patient, so that the one
// that waits for the late worker speaks first, and names it.
void move_frames(std::vector<Outgoing>& out, std::vector<Incoming>& in,
                 const MessageContext& context);

// The error for a worker that takes part in another operation than the others.
WorkerGone out_of_step(const Peer& peer, const std::string& details = "");

// Tells all peers that this worker needs no more messages, as far as they take it at once.
void send_leaving(const std::vector<Peer>& peers) noexcept;

// An abort frame: which worker is gone, and why.
std::string abort_payload(const WorkerGone& gone);

// Sends an abort frame to all peers, as far as they take it within a second, and waits that long
// for them to leave: closing at once could destroy what they have not read.
void send_abort(const std::vector<Peer>& peers, const WorkerGone& gone) noexcept;

}  // namespace rankgrove
