// The threads of the library: started once, kept, and shared by all calls.
//
// A job is work that any number of threads can do together, because each takes its next piece from
// a counter. The calling thread always works itself; workers join while there is something to take.
// Nobody waits for a worker that has not come yet: on a busy machine, or while the workers serve
// another caller, the calling thread does what is left alone.
#pragma once

#include <atomic>
#include <condition_variable>
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

  // Calls work(true) on this thread and work(false) on up to n_threads - 1 workers, and returns
  // when all calls have. `work` must not throw.
  template <typename Work>
  void run(int n_threads, Work&& work) {
    const auto call = [](void* context, bool caller) noexcept {
      (*static_cast<std::remove_reference_t<Work>*>(context))(caller);
    };
    Job job{call, &work, n_threads - 1, {}, nullptr};
    run_job(job);
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Job {
    void (*call)(void* context, bool caller) noexcept;
    void* context;
    int places;               // workers that may still join
    std::atomic<int> inside;  // workers that have joined and not left
    Job* next;
  };

  ThreadPool() = default;
  void run_job(Job& job);
  void start_workers(int wanted);
  void serve();
  Job* join();
  void close(Job& job);

  std::mutex mutex_;
  std::condition_variable opened_;  // for workers: there is a job to join
  std::condition_variable left_;    // for callers: the last worker has left a job
  Job* jobs_ = nullptr;             // jobs with places
  std::atomic<bool> has_jobs_{false};
  int n_workers_ = 0;
  int n_asleep_ = 0;
};

}  // namespace rankgrove
