// Native tests in a few lines: CASE("what holds") { CHECK(...); }
//
// The program lists its cases with --list, and runs the one whose name it is given (all without).
#pragma once

#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Case {
  const char* name;
  std::function<void()> body;
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registered {
  Registered(const char* name, std::function<void()> body) { cases().push_back({name, body}); }
};

inline int run(int n_arguments, char** arguments) {
  const char* wanted = n_arguments > 1 ? arguments[1] : nullptr;
  int n_failed = 0;
  int n_run = 0;
  for (const Case& one : cases()) {
    if (wanted && std::strcmp(wanted, "--list") == 0) {
      std::printf("%s\n", one.name);
      continue;
    }
    if (wanted && std::strcmp(wanted, one.name) != 0) continue;
    ++n_run;
    try {
      one.body();
    } catch (const std::exception& error) {
      ++n_failed;
      std::printf("%s: %s\n", one.name, error.what());
    }
  }
  if (wanted && std::strcmp(wanted, "--list") == 0) return 0;
  return n_failed > 0 || n_run == 0;
}

}  // namespace check

#define CHECK_JOIN_(a, b) a##b
#define CHECK_JOIN(a, b) CHECK_JOIN_(a, b)
#define CASE(name)                                                                               \
  static void CHECK_JOIN(case_, __LINE__)();                                                     \
  static const check::Registered CHECK_JOIN(registered_, __LINE__)(name,                         \
                                                                   CHECK_JOIN(case_, __LINE__)); \
  static void CHECK_JOIN(case_, __LINE__)()
#define CHECK(condition)                                                                \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      throw std::runtime_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + \
                               ": " #condition);                                        \
    }                                                                                   \
  } while (false)
