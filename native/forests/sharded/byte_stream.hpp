// Plain values and arrays as bytes, for messages between workers of the same build.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "distributed/damaged_message.hpp"

namespace rankgrove::forests {

class ByteWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  void put_all(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  // The bytes of a message of the worker `rank`, which errors name.
  ByteReader(std::string_view bytes, int rank) : rest_(bytes), rank_(rank) {}

  template <typename T>
  T get() {
    T value;
    read(&value, sizeof value);
    return value;
  }
  template <typename T>
  void get_all(T* values, size_t n) {
    read(values, n * sizeof(T));
  }
  // An array whose length the message says, too.
  template <typename T>
  std::vector<T> get_vector(int64_t n) {
    require(n >= 0 && n <= std::ssize(rest_) / static_cast<int64_t>(sizeof(T)), "a wrong length");
    std::vector<T> values(static_cast<size_t>(n));
    get_all(values.data(), values.size());
    return values;
  }
  int64_t n_left() const { return std::ssize(rest_); }
  void require_end() const { require(rest_.empty(), "it is too long"); }
  void require(bool is_right, const char* what) const { require_of_message(is_right, rank_, what); }

 private:
  void read(void* target, size_t n) {
    require(n <= rest_.size(), "it is too short");
    if (n > 0) std::memcpy(target, rest_.data(), n);
    rest_.remove_prefix(n);
  }

  std::string_view rest_;
  int rank_;
};

inline std::vector<ByteReader> readers_of(const std::vector<std::string_view>& messages) {
  std::vector<ByteReader> readers;
  for (const std::string_view message : messages) {
    readers.emplace_back(message, static_cast<int>(readers.size()));
  }
  return readers;
}

}  // namespace rankgrove::forests
