// Loops over OpenMP threads that carry C++ exceptions out of the parallel region.
//
// Every parallel region of the library goes through `parallel_for` or names num_threads() itself,
// so that a caller's n_jobs is obeyed everywhere.
#pragma once

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

namespace rankgrove {

// Catches the first exception thrown inside a parallel region and rethrows it outside.
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

// Calls body(i) for i in [0, n), in dynamic chunks. The order is unspecified: bodies must not
// depend on it, so results are the same for every n_threads.
template <typename Body>
void parallel_for(int64_t n, int n_threads, int64_t chunk, Body&& body) {
  if (n_threads <= 1 || n <= chunk) {
    for (int64_t i = 0; i < n; ++i) body(i);
    return;
  }
  ExceptionCarrier carrier;
#pragma omp parallel for schedule(dynamic, chunk) num_threads(n_threads)
  for (int64_t i = 0; i < n; ++i) {
    if (!carrier.failed()) carrier.run([&] { body(i); });
  }
  carrier.rethrow();
}

}  // namespace rankgrove
