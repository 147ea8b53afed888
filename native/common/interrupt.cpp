#include "common/interrupt.hpp"

#include <atomic>
#include <chrono>

namespace rankgrove {
namespace {

constexpr double kWorkPerCheck = 1e6;  // nanoseconds; reading the clock costs some 30
constexpr auto kPause = std::chrono::milliseconds(50);

std::atomic<InterruptCheck> interrupt_check{nullptr};

}  // namespace

void set_interrupt_check(InterruptCheck check) { interrupt_check.store(check); }

void note_work(double nanoseconds) {
  using Clock = std::chrono::steady_clock;
  thread_local double work = 0.0;
  thread_local Clock::time_point asked{};
  work += nanoseconds;
  if (work < kWorkPerCheck) return;
  work = 0.0;
  const Clock::time_point now = Clock::now();
  if (now - asked < kPause) return;
  asked = now;
  if (const InterruptCheck check = interrupt_check.load()) check();
}

}  // namespace rankgrove
