// Plain values and arrays as bytes, for messages between workers of the same build.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

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
  bool at_end() const { return rest_.empty(); }

 private:
  void read(void* target, size_t n) {
    if (n > rest_.size()) throw std::runtime_error("a message of another worker is too short");
    if (n > 0) std::memcpy(target, rest_.data(), n);
    rest_.remove_prefix(n);
  }

  std::string_view rest_;
};

}  // namespace rankgrove::forests
