// The threads of the library: started once, kept, and shared by all calls.
//
// A job is work that any number of threads can do together, because each takes its next piece from
// a counter. The calling thread always works itself; workers join while there is something to take.
// Nobody waits for a worker that has not come yet: on a busy machine, or while the workers serve
// another caller, the calling thread does what is left alone.
//
// Threads sleep when there is nothing to do. Where many short jobs follow each other, a KeepAwake
// lets them spin for short times instead. If the machine turns out to be busy with other processes,
// the pool backs off for a while: a worker that is preempted in the middle of a short job costs
// more than it saves.
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

  // Wakes the workers of n_threads threads. While the object lives, and shortly after, idle workers
  // spin for a while before they sleep again.
  class KeepAwake {
   public:
    explicit KeepAwake(int n_threads) : pool_(shared()) {
      ++pool_.n_keep_awake_;
      if (n_threads > 1 && pool_.responsive()) pool_.wake(n_threads - 1);
    }
    ~KeepAwake() {
      pool_.awake_until_ = (Clock::now() + kAwakeAfter).time_since_epoch().count();
      --pool_.n_keep_awake_;
    }
    KeepAwake(const KeepAwake&) = delete;
    KeepAwake& operator=(const KeepAwake&) = delete;

   private:
    ThreadPool& pool_;
  };

  // Number of workers that spin and are expected to respond quickly.
  int awake() const { return kept_awake() && responsive() ? n_workers_ - n_asleep_ : 0; }

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
  // The next tree of a small fit begins within about this time.
  static constexpr std::chrono::milliseconds kAwakeAfter{1};

  ThreadPool() = default;
  void run_job(Job& job);
  void wake(int wanted);
  void wait_for_workers(Job& job, Clock::time_point started);
  std::unique_lock<std::mutex> lock_soon();
  static int64_t clock() { return Clock::now().time_since_epoch().count(); }
  bool responsive() const { return clock() >= backoff_until_; }
  bool kept_awake() const { return n_keep_awake_ > 0 || clock() < awake_until_; }
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
  std::atomic<int> n_keep_awake_{0};
  std::atomic<int64_t> awake_until_{0};    // on the clock, also after the last KeepAwake is gone
  std::atomic<int64_t> backoff_until_{0};  // on the clock
  std::atomic<int64_t> backoff_{0};        // duration of the next back-off
};

}  // namespace rankgrove
