// The error of a damaged message between workers.
//
// Every number of a message that is used as an index or a length is checked when the message is
// read, so that a damaged one is an error and never a crash.
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
