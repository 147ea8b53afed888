// The error of a message between workers that cannot be what its sender meant to send.
//
// Messages are trusted for their meaning, not for their bytes: whatever is used as an index or a
// length is checked when a message is read, so that a damaged one is an error and never a crash.
#pragma once

#include <stdexcept>
#include <string>

namespace rankgrove {

inline void require_of_message(bool is_right, int rank, const char* what) {
  if (is_right) return;
  throw std::runtime_error("worker " + std::to_string(rank) +
                           " sent a message that cannot be right: " + what);
}

}  // namespace rankgrove
