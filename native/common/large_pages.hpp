// Memory for large randomly accessed tables, in huge pages where the system has them, which saves
// TLB misses.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rankgrove {

template <typename T>
struct LargePageAllocator {
  using value_type = T;

  LargePageAllocator() = default;
  template <typename U>
  LargePageAllocator(const LargePageAllocator<U>&) {}

  T* allocate(size_t n) {
    if (n * sizeof(T) < kPage) return static_cast<T*>(::operator new(n * sizeof(T)));
    const size_t size = (n * sizeof(T) + kPage - 1) / kPage * kPage;
    void* memory = std::aligned_alloc(kPage, size);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
    madvise(memory, size, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, size_t n) {
    if (n * sizeof(T) < kPage) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }

  // New elements of a resized vector are not initialised.
  template <typename U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }

  bool operator==(const LargePageAllocator&) const = default;

 private:
  static constexpr size_t kPage = size_t{1} << 21;
};

template <typename T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace rankgrove
