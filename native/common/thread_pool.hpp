// The threads of the library: started once, kept, and shared by all calls.
//
// A job is work that any number of threads can do together, because each takes its next piece from
// a counter. The calling thread always works itself; workers join while there is something to take.
// Nobody waits for a worker that has not come yet: on a busy machine, or while the workers serve
// another caller, the calling thread does what is left alone.
//
// Threads sleep when there is nothing to do. Where many short jobs follow each other, a Watch keeps
// them from it for moments at a time, unless the machine turns out to be busy with other things: a
// worker that the system takes off its core in the middle of a short job costs more than it brings.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rankgrove {

class ThreadPool {
 public:
  // The pool of this process; a forked child gets a fresh one.
  static ThreadPool& shared();

  // The cores that this process may use, and the most threads that can be asked for.
  static int usable_cores();
  static int most_threads();

  // Whether the calling thread already works on a job: its inner loops are its own.
  static bool inside_job();

  // Wakes the workers of so many threads; while it lives and shortly after, they look out for the
  // next job for a while before they sleep again.
  class Watch {
   public:
    explicit Watch(int n_threads) : pool_(shared()) {
      ++pool_.n_watches_;
      if (n_threads > 1 && pool_.trusted()) pool_.wake(n_threads - 1);
    }
    ~Watch() {
      pool_.watched_until_ = (Clock::now() + kAfterWatch).time_since_epoch().count();
      --pool_.n_watches_;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    ThreadPool& pool_;
  };

  // Workers that are about to look for a job, and may be trusted to be quick.
  int awake() const { return watched() && trusted() ? n_workers_ - n_asleep_ : 0; }

  // Calls work(true) on this thread and work(false) on up to n_threads - 1 workers, and returns
  // when all calls have. `work` must not throw.
  template <typename Work>
  void run(int n_threads, Work&& work) {
    const auto call = [](void* context, bool caller) noexcept {
      (*static_cast<std::remove_reference_t<Work>*>(context))(caller);
    };
    Job job{call, &work, n_threads - 1, true, {}, nullptr};
    run_job(job);
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Job {
    void (*call)(void* context, bool caller) noexcept;
    void* context;
    int places;               // workers that may still join
    std::atomic<bool> open;   // whether workers may still find it
    std::atomic<int> inside;  // workers that have joined and not left
    Job* next;
  };

  using Clock = std::chrono::steady_clock;
  // The next tree's watch begins about so soon, if trees are small.
  static constexpr std::chrono::milliseconds kAfterWatch{1};

  ThreadPool() = default;
  void run_job(Job& job);
  void wake(int wanted);
  void wait_for_workers(Job& job, Clock::time_point started);
  std::unique_lock<std::mutex> lock_soon();
  static int64_t clock() { return Clock::now().time_since_epoch().count(); }
  bool trusted() const { return clock() >= trusted_from_; }
  bool watched() const { return n_watches_ > 0 || clock() < watched_until_; }
  void start_workers(int wanted);
  void serve();
  Job* join();
  void leave(Job& job);
  void close(Job& job);

  std::mutex mutex_;
  std::condition_variable opened_;  // for workers: there is a job to join
  std::condition_variable left_;    // for callers: the last worker has left a job
  Job* jobs_ = nullptr;             // jobs with places
  std::atomic<bool> has_jobs_{false};
  std::atomic<int> n_workers_{0};
  std::atomic<int> n_asleep_{0};
  int n_called_ = 0;               // workers that are to wake up though there is no job yet
  std::atomic<int> n_waiting_{0};  // callers that sleep
  std::atomic<int> n_watches_{0};
  std::atomic<int64_t> watched_until_{0};  // by the clock, though no watch may be left
  std::atomic<int64_t> trusted_from_{0};   // by the clock
  std::atomic<int64_t> distrust_{0};       // how long it lasts the next time
};

}  // namespace rankgrove
