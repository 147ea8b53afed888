// Workers around a hub: worker 0 has a connection to each of the others, adds up what they send and
// sends the result back.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/communicator.hpp"
#include "distributed/frames.hpp"

namespace rankgrove {

struct Traffic {
  int64_t messages = 0;
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  double seconds_waiting = 0.0;
};

class Star final : public Communicator {
 public:
  // Takes over the sockets: those of the hub to workers 1.., in order of rank, or the one of a
  // worker to the hub.
  Star(int rank, int size, std::vector<Peer> peers, double patience);
  ~Star() override;
  Star(const Star&) = delete;
  Star& operator=(const Star&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Traffic& traffic() const { return traffic_; }

  void sum(int64_t* values, size_t n) override;
  void maximum(int64_t* values, size_t n) override;
  std::vector<std::string> gather(std::string_view own);
  std::string broadcast(std::string_view own);
  std::vector<std::string> exchange(const std::vector<std::string_view>& parts);

  // Tells the others why this worker gives up, and closes.
  void abort(const std::string& reason);
  void close();

 private:
  class Message;

  template <typename Combine>
  void reduce(Kind kind, int64_t* values, size_t n, Combine&& combine);
  void move(std::vector<Outgoing> out, std::vector<Incoming>& in);
  std::string ask_hub(Kind kind, std::string_view own);
  std::vector<std::string> collect(Kind kind, std::string_view own);
  void answer(Kind kind, const std::vector<std::string_view>& payloads);
  FrameHeader header(Kind kind, size_t length) const;

  int rank_;
  int size_;
  std::vector<Peer> peers_;
  double patience_;
  uint32_t number_ = 0;  // of the message under way
  std::atomic<bool> busy_{false};
  Traffic traffic_;
  std::vector<std::vector<int64_t>> received_;  // of each peer; the memory is kept
};

}  // namespace rankgrove
