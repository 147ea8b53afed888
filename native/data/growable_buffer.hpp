// An array that grows without being copied: its pages are remapped, so the peak is its own size,
// and memory that was reserved but never touched costs nothing.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rankgrove {

// Sanitizers check the bounds of memory from malloc, not of mapped pages.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define RANKGROVE_REMAP_PAGES
#endif

// Memory straight from the system.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  MemoryBlock(MemoryBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryBlock();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  // Keeps the bytes that fit; new ones are not initialised.
  void resize(size_t bytes);

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

#if defined(RANKGROVE_REMAP_PAGES)

inline MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

inline void MemoryBlock::resize(size_t bytes) {
  constexpr size_t kPage = 4096;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  if (bytes == 0) bytes = kPage;
  void* data = data_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                : mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) throw std::bad_alloc();
  data_ = data;
  bytes_ = bytes;
  constexpr size_t kHugePage = size_t{1} << 21;
  if (bytes >= 4 * kHugePage) madvise(data_, bytes_, MADV_HUGEPAGE);
}

#else

inline MemoryBlock::~MemoryBlock() { std::free(data_); }

inline void MemoryBlock::resize(size_t bytes) {
  void* data = std::realloc(data_, bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  data_ = data;
  bytes_ = bytes;
}

#endif

template <typename T>
class GrowableBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  T* data() { return static_cast<T*>(block_.data()); }

  // Reserves `size` elements; new ones are not initialised.
  void reserve(int64_t size) {
    const size_t bytes = static_cast<size_t>(size) * sizeof(T);
    if (bytes <= block_.bytes()) return;
    const size_t grown = block_.bytes() + block_.bytes() / 2;
    block_.resize(bytes > grown ? bytes : grown);
  }

  // Hands the memory over, cut to `size` elements.
  MemoryBlock release(int64_t size) {
    block_.resize(static_cast<size_t>(size) * sizeof(T));
    return std::move(block_);
  }

 private:
  MemoryBlock block_;
};

}  // namespace rankgrove
