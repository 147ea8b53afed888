// Memory of a large table: on the heap, or mapped from an unnamed file in a folder, whose pages the
// system can write out when memory is short.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace rankgrove {

class TableMemory {
 public:
  TableMemory() = default;
  // Uninitialised memory; an empty folder means the heap. A file that the disk cannot hold is a
  // std::runtime_error here and never a fault later.
  TableMemory(size_t bytes, const std::string& folder);
  ~TableMemory();
  TableMemory(TableMemory&& other) noexcept { *this = std::move(other); }
  TableMemory& operator=(TableMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool mapped_ = false;
};

// An array of n values in such memory.
template <typename T>
class Table {
 public:
  Table() = default;
  Table(size_t n, const std::string& folder) : memory_(n * sizeof(T), folder), size_(n) {}

  T* data() const { return static_cast<T*>(memory_.data()); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) const { return data()[i]; }

 private:
  TableMemory memory_;
  size_t size_ = 0;
};

// Lets go of the mapped pages that lie wholly between two addresses: they stay in the file and are
// read again when they are touched. Without effect on other systems than Linux.
void release_pages(const void* begin, const void* end);

// Gives freed memory, which the allocator may keep for later, back to the system.
void release_freed_memory();

}  // namespace rankgrove
