#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "check.hpp"
#include "common/interrupt.hpp"
#include "common/parallel.hpp"

using rankgrove::parallel_for;

namespace {

constexpr double kLong = 1e6;  // nanoseconds: pays for any number of threads

// How often each of n turns was taken, less 1; all zero if the loop is right.
int64_t mistakes(int64_t n, int n_threads, double nanoseconds) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(n));
  parallel_for(n, n_threads, nanoseconds, [&](int64_t i) { ++counts[size_t(i)]; });
  int64_t wrong = 0;
  for (const auto& count : counts) wrong += count != 1;
  return wrong;
}

}  // namespace

CASE("every turn of a loop is taken once") {
  for (const int64_t n : {0, 1, 2, 7, 1000, 100'000}) {
    for (const int n_threads : {-1, 0, 1, 2, 3, 8, 1'000'000}) {
      for (const double nanoseconds : {0.0, 1.0, 1e3, kLong}) {
        CHECK(mistakes(n, n_threads, nanoseconds) == 0);
      }
    }
  }
}

CASE("little work stays on the calling thread") {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  for (int repeat = 0; repeat < 100; ++repeat) {
    parallel_for(50, 8, 1000.0,
                 [&](int64_t) { elsewhere += std::this_thread::get_id() != caller; });
  }
  CHECK(elsewhere == 0);
  CHECK(rankgrove::paid_threads(8, 50e3) == 1);
  CHECK(rankgrove::paid_threads(8, 350e3) == 3);
  CHECK(rankgrove::paid_threads(8, 1e12) == 8);
}

CASE("short jobs with workers kept awake, also of several callers, take every turn once") {
  std::atomic<int64_t> wrong{0};
  const auto call = [&] {
    for (int repeat = 0; repeat < 300; ++repeat) {
      const rankgrove::ThreadPool::KeepAwake keep_awake(4);
      for (const int64_t n : {2, 16, 100}) wrong += mistakes(n, 4, 1e5 / static_cast<double>(n));
    }
  };
  std::thread other(call);
  call();
  other.join();
  CHECK(wrong == 0);
}

CASE("each thread has a state of its own") {
  std::atomic<int64_t> total{0};
  std::atomic<int> n_states{0};
  struct State {
    std::atomic<int64_t>* total;
    int64_t sum = 0;
    ~State() { *total += sum; }
  };
  parallel_for(
      1000, 4, kLong,
      [&] {
        ++n_states;
        return State{&total};
      },
      [](int64_t i, State& state) { state.sum += i; });
  CHECK(total == 999 * 1000 / 2);
  CHECK(n_states >= 1 && n_states <= 4);
}

CASE("an exception of any thread reaches the caller, also lack of memory") {
  for (int repeat = 0; repeat < 200; ++repeat) {
    bool caught = false;
    try {
      parallel_for(64, 4, kLong, [&](int64_t i) {
        if (i % 16 == 15) throw std::bad_alloc();
      });
    } catch (const std::bad_alloc&) {
      caught = true;
    }
    CHECK(caught);
  }
  CHECK(mistakes(1000, 4, kLong) == 0);
}

CASE("inner loops are run by the thread that meets them") {
  std::atomic<int> moved{0};
  std::atomic<int64_t> sum{0};
  parallel_for(20, 4, kLong, [&](int64_t) {
    const auto own = std::this_thread::get_id();
    parallel_for(20, 4, kLong, [&](int64_t j) {
      moved += std::this_thread::get_id() != own;
      sum += j;
    });
  });
  CHECK(moved == 0);
  CHECK(sum == 20 * 190);
}

CASE("callers in several threads do not wait for each other's workers") {
  std::vector<std::thread> callers;
  std::atomic<int64_t> wrong{0};
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) wrong += mistakes(500, 3, kLong);
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

CASE("a forked child has threads of its own") {
  CHECK(mistakes(1000, 4, kLong) == 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a child that hangs dies
    _exit(mistakes(1000, 4, kLong) == 0 ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

CASE("a loop asks now and then whether it is to stop, and stops") {
  struct Stopped {};
  for (const int n_threads : {1, 2}) {
    std::atomic<int64_t> n_done{0};
    bool stopped = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    rankgrove::set_interrupt_check([] { throw Stopped(); });
    try {
      parallel_for(1'000'000, n_threads, kLong, [&](int64_t) { ++n_done; });
    } catch (const Stopped&) {
      stopped = true;
    }
    rankgrove::set_interrupt_check(nullptr);
    CHECK(stopped);
    CHECK(n_done < 1'000'000);
  }
}
