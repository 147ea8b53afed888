// Workers that are all connected with each other: no worker carries more than the others.
//
// Operations follow the schedule of halving.hpp, except exchange(), in which every worker sends
// directly to every other.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/communicator.hpp"
#include "distributed/frames.hpp"
#include "distributed/halving.hpp"

namespace rankgrove {

struct Traffic {
  int64_t messages = 0;
  int64_t frames_sent = 0;
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  double seconds_waiting = 0.0;
};

class Mesh final : public Communicator {
 public:
  // Takes over the sockets to all other workers, which are given in order of rank.
  Mesh(int rank, int size, std::vector<Peer> peers, double patience);
  ~Mesh() override;
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const Traffic& traffic() const { return traffic_; }

  void sum(int64_t* values, size_t n) override;
  void maximum(int64_t* values, size_t n) override;
  void sum_scatter(int64_t* values, std::span<const size_t> bounds, int64_t* extra,
                   size_t n_extra) override;
  std::vector<std::string> gather(std::string_view own) override;
  std::string broadcast(std::string_view own);
  std::vector<std::string> exchange(const std::vector<std::string_view>& parts);

  // Tells the others why this worker gives up, and closes.
  void abort(const std::string& reason);
  void close();

 private:
  class Message;

  void disconnect();
  template <typename Combine>
  void reduce(Kind kind, int64_t* values, size_t n, Combine&& combine);
  template <typename Combine>
  void scatter(Kind kind, int64_t* values, std::span<const size_t> bounds, int64_t* extra,
               size_t n_extra, Combine&& combine);
  void spread(Kind kind, int64_t* values, std::span<const size_t> bounds);
  std::vector<std::string> gather_parts(Kind kind, std::string_view own);
  void move(std::vector<Outgoing> out, std::vector<Incoming>& in);
  FrameHeader header(Kind kind, size_t length) const { return {kind, number_, length}; }
  const Peer& peer(int rank) const { return peers_[rank < rank_ ? rank : rank - 1]; }

  int rank_;
  int size_;
  std::vector<Peer> peers_;
  double patience_;
  std::vector<HalvingStep> steps_;
  uint32_t number_ = 0;  // of the message under way
  std::atomic<bool> busy_{false};
  Traffic traffic_;
  std::vector<int64_t> sent_;                   // a copy of what goes out with extra values
  std::vector<std::vector<int64_t>> received_;  // the memory is kept
};

}  // namespace rankgrove
