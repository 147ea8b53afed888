// Loops over threads.
//
// A caller says what one iteration of its loop costs, in nanoseconds, roughly (a factor of two does
// not matter). From that follow the number of threads that the loop pays for and how many
// iterations a thread takes at once. Their order is unspecified: bodies must not depend on it, so
// results are the same for every n_threads.
//
// Each thread begins with a range of iterations of its own, the same in every loop of that length:
// what it wrote in one loop over rows is in its cache when it reads it in the next one. A thread
// that has finished its range helps with the others. For example, two threads share 8 iterations,
// and the second comes late: the first takes 0 to 3, then 4 and 5; the second takes 6 and 7.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/thread_pool.hpp"

namespace rankgrove {

// Work, in nanoseconds, for which one thread more is worth waking up (it takes some 50 us to come),
// and for which one is worth calling that is awake.
inline constexpr double kWorkPerThread = 1e5;
inline constexpr double kWorkPerAwakeThread = 8e3;
// Work that a thread takes at once (a piece), and the least number of pieces per thread.
inline constexpr double kWorkPerTurn = 2e4;
inline constexpr int64_t kTurnsPerThread = 4;

// How many of n_threads so much work pays for.
inline int paid_threads(int n_threads, double nanoseconds) {
  if (n_threads <= 1 || nanoseconds < 2 * kWorkPerAwakeThread) return 1;
  const double awake = 1 + ThreadPool::shared().awake();
  const double paid =
      std::max(nanoseconds / kWorkPerThread, std::min(awake, nanoseconds / kWorkPerAwakeThread));
  return static_cast<int>(std::clamp(paid, 1.0, static_cast<double>(n_threads)));
}

// Catches the first exception thrown by a thread of a loop and rethrows it in the calling thread.
class ExceptionCarrier {
 public:
  template <typename Body>
  void run(Body&& body) noexcept {
    try {
      body();
    } catch (...) {
      if (!caught_.exchange(true)) error_ = std::current_exception();
    }
  }
  bool failed() const noexcept { return caught_.load(std::memory_order_relaxed); }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> caught_{false};
  std::exception_ptr error_;
};

// Calls body(i, state) for i in [0, n); each thread makes a state of its own by make_state().
template <typename MakeState, typename Body>
void parallel_for(int64_t n, int n_threads, double nanoseconds, MakeState&& make_state,
                  Body&& body) {
  if (n <= 0) return;
  nanoseconds = std::max(nanoseconds, 1.0);
  const bool inner = ThreadPool::inside_job();
  const double work = static_cast<double>(n) * nanoseconds;
  const auto threads =
      static_cast<int>(std::min<int64_t>(inner ? 1 : paid_threads(n_threads, work), n));
  const int64_t chunk = std::clamp<int64_t>(static_cast<int64_t>(kWorkPerTurn / nanoseconds), 1,
                                            std::max<int64_t>(1, n / (kTurnsPerThread * threads)));
  if (threads == 1) {
    auto state = make_state();
    for (int64_t first = 0; first < n; first += chunk) {
      const int64_t last = std::min(n, first + chunk);
      for (int64_t i = first; i < last; ++i) body(i, state);
      if (!inner) note_work(static_cast<double>(last - first) * nanoseconds);
    }
    return;
  }
  struct alignas(64) Range {
    std::atomic<int64_t> next;
    int64_t end;
  };
  std::vector<Range> ranges(threads);
  for (int t = 0; t < threads; ++t) {
    ranges[t].next.store(n * t / threads, std::memory_order_relaxed);
    ranges[t].end = n * (t + 1) / threads;
  }
  std::atomic<int> n_workers{0};  // that have come
  ExceptionCarrier carrier;
  const auto take_turns = [&](bool caller) {
    auto state = make_state();
    const int own = caller ? 0 : ++n_workers;
    for (int t = 0; t < threads; ++t) {
      auto& [next, end] = ranges[(own + t) % threads];
      for (int64_t first; !carrier.failed() && (first = next.fetch_add(chunk)) < end;) {
        const int64_t last = std::min(end, first + chunk);
        for (int64_t i = first; i < last; ++i) body(i, state);
        if (caller) note_work(static_cast<double>(last - first) * nanoseconds);
      }
    }
  };
  ThreadPool::shared().run(threads, [&](bool caller) { carrier.run([&] { take_turns(caller); }); });
  carrier.rethrow();
}

// Calls body(i) for i in [0, n).
template <typename Body>
void parallel_for(int64_t n, int n_threads, double nanoseconds, Body&& body) {
  struct Nothing {};
  parallel_for(
      n, n_threads, nanoseconds, [] { return Nothing(); }, [&](int64_t i, Nothing&) { body(i); });
}

}  // namespace rankgrove
