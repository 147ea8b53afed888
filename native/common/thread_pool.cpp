#include "common/thread_pool.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "common/simd.hpp"

namespace rankgrove {
namespace {

// Constants of spinning, sleeping and backing off. They change speed, never results. Waking a
// sleeping thread takes some 50 us, polling once some tens of nanoseconds.
//
//   constant            chosen for
//   kPolls              a spin of a few microseconds, less than a wake-up costs
//   kWorkerSpin         a worker stays awake between the short jobs of one tree
//   kCallerSpin         a caller spins for its last worker as long as a wake-up would take
//   kLateWorker         a worker later than this (and than the job took) was descheduled: the
//                       machine is busy, and short jobs use no workers for a back-off time
//   kShortestBackOff,   the back-off time, which doubles from the shortest to the longest
//   kLongestBackOff     (nanoseconds)
//   kAlwaysAllowed      threads that may be requested on machines with fewer cores, for tests
constexpr int kPolls = 100;
constexpr std::chrono::microseconds kWorkerSpin{100};
constexpr std::chrono::microseconds kCallerSpin{50};
constexpr std::chrono::microseconds kLateWorker{300};
constexpr int64_t kShortestBackOff = 10'000'000;
constexpr int64_t kLongestBackOff = 250'000'000;
constexpr int kAlwaysAllowed = 8;

thread_local bool is_inside_job = false;
std::atomic<ThreadPool*> shared_pool{nullptr};

template <typename Condition>
bool spin_until(Condition&& condition) {
  for (int i = 0; i < kPolls; ++i) {
    if (condition()) return true;
    cpu_pause();
  }
  return false;
}

// The threads of the parent are not there in a forked child, and its locks may be held for ever:
// the child leaves that pool alone.
void forget_pool() {
  shared_pool.store(nullptr);
  is_inside_job = false;
}

[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, forget_pool);

// Signals are for the threads of the program: workers are started with all of them blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

// Never destroyed: workers sleep in it until the process ends.
ThreadPool& ThreadPool::shared() {
  ThreadPool* pool = shared_pool.load();
  if (pool == nullptr) {
    std::unique_ptr<ThreadPool> fresh(new ThreadPool);
    if (shared_pool.compare_exchange_strong(pool, fresh.get())) pool = fresh.release();
  }
  return *pool;
}

int ThreadPool::usable_cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int ThreadPool::most_threads() { return std::max(kAlwaysAllowed, usable_cores()); }

bool ThreadPool::inside_job() { return is_inside_job; }

void ThreadPool::run_job(Job& job) {
  const Clock::time_point started = Clock::now();
  int n_to_wake = 0;
  {
    const std::unique_lock lock = lock_soon();
    if (n_workers_ < job.places) start_workers(job.places);
    job.next = jobs_;
    jobs_ = &job;
    has_jobs_.store(true);
    n_to_wake = std::min(job.places - awake(), n_asleep_.load());
  }
  for (int i = 0; i < n_to_wake; ++i) opened_.notify_one();
  is_inside_job = true;
  job.call(job.context, true);
  is_inside_job = false;
  if (job.open.load()) {
    const std::unique_lock lock = lock_soon();
    close(job);
  }
  wait_for_workers(job, started);
}

// The lock is held for moments, and a thread that sleeps until it is free sleeps for longer.
std::unique_lock<std::mutex> ThreadPool::lock_soon() {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!spin_until([&] { return lock.try_lock(); })) lock.lock();
  return lock;
}

void ThreadPool::wake(int wanted) {
  int n_to_wake = 0;
  {
    const std::unique_lock lock = lock_soon();
    if (n_workers_ < wanted) start_workers(wanted);
    n_called_ = n_to_wake = std::min(wanted, n_asleep_.load());
  }
  for (int i = 0; i < n_to_wake; ++i) opened_.notify_one();
}

// Spins for workers that are about to leave, as long as a wake-up would take, then sleeps.
void ThreadPool::wait_for_workers(Job& job, Clock::time_point started) {
  const auto all_left = [&] { return job.inside.load() == 0; };
  bool left = spin_until(all_left);
  const Clock::time_point finished = Clock::now();
  while (!left && Clock::now() < finished + kCallerSpin) left = spin_until(all_left);
  if (left) {
    backoff_ = backoff_ - backoff_ / 16;
    return;
  }
  std::unique_lock lock = lock_soon();
  ++n_waiting_;
  left_.wait(lock, all_left);
  --n_waiting_;
  const Clock::time_point now = Clock::now();
  if (now - finished < std::max<Clock::duration>(kLateWorker, finished - started)) return;
  backoff_ = std::clamp(2 * backoff_, kShortestBackOff, kLongestBackOff);
  backoff_until_ = now.time_since_epoch().count() + backoff_;
}

// The job may be gone as soon as the last worker has left it.
void ThreadPool::leave(Job& job) {
  if (job.inside.fetch_sub(1) != 1 || n_waiting_.load() == 0) return;
  const std::unique_lock lock = lock_soon();  // a caller that has polled is asleep by now
  left_.notify_all();
}

// Starts the missing workers; if the system refuses a thread, fewer do the work.
void ThreadPool::start_workers(int wanted) {
  const SignalsBlocked blocked;
  try {
    for (wanted = std::min(wanted, most_threads() - 1); n_workers_ < wanted; ++n_workers_) {
      std::thread([this] { serve(); }).detach();
    }
  } catch (const std::exception&) {
  }
}

void ThreadPool::serve() {
  is_inside_job = true;
  const auto has_jobs = [&] { return has_jobs_.load(std::memory_order_relaxed); };
  for (;;) {
    bool found = spin_until(has_jobs);
    const Clock::time_point until = Clock::now() + kWorkerSpin;
    while (!found && kept_awake() && responsive() && Clock::now() < until)
      found = spin_until(has_jobs);
    std::unique_lock lock = lock_soon();
    Job* job = join();
    if (job == nullptr && !found) {
      ++n_asleep_;
      opened_.wait(lock, [&] { return jobs_ != nullptr || n_called_ > 0; });
      if (n_called_ > 0) --n_called_;
      --n_asleep_;
      job = join();
    }
    lock.unlock();
    if (job == nullptr) continue;
    job->call(job->context, false);
    leave(*job);
  }
}

// Takes a place in a job, or gives null. Called with the lock, as is close().
ThreadPool::Job* ThreadPool::join() {
  Job* job = jobs_;
  if (job == nullptr) return nullptr;
  job->inside.fetch_add(1);
  if (--job->places == 0) close(*job);
  return job;
}

void ThreadPool::close(Job& job) {
  Job** link = &jobs_;
  while (*link != nullptr && *link != &job) link = &(*link)->next;
  if (*link == &job) *link = job.next;
  job.open.store(false);
  has_jobs_.store(jobs_ != nullptr);
}

}  // namespace rankgrove
