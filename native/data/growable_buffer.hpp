// An array that grows by realloc. Large blocks are moved by remapping pages, so growing neither
// copies nor doubles the peak, and memory that was reserved but never touched costs nothing.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rankgrove {

template <typename T>
class GrowableBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowableBuffer() = default;
  GrowableBuffer(const GrowableBuffer&) = delete;
  GrowableBuffer& operator=(const GrowableBuffer&) = delete;
  ~GrowableBuffer() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }

  // Makes room for `size` elements; new ones are not initialised.
  void reserve(int64_t size) {
    if (size <= capacity_) return;
    const int64_t grown = capacity_ + capacity_ / 2;
    reallocate(size > grown ? size : grown);
  }

  // Hands the memory over, cut to `size` elements; free() it with std::free.
  T* release(int64_t size) {
    reallocate(size > 0 ? size : 1);
    T* data = data_;
    data_ = nullptr;
    capacity_ = 0;
    return data;
  }

 private:
  void reallocate(int64_t capacity) {
    const size_t bytes = static_cast<size_t>(capacity) * sizeof(T);
    void* grown = std::realloc(static_cast<void*>(data_), bytes);
    if (grown == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
    ask_for_huge_pages(bytes);
  }

  void ask_for_huge_pages([[maybe_unused]] size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr uintptr_t kHuge = uintptr_t{1} << 21;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(data_) + kHuge - 1) & ~(kHuge - 1);
    const uintptr_t end = (reinterpret_cast<uintptr_t>(data_) + bytes) & ~(kHuge - 1);
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
  }

  T* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace rankgrove
