#include "common/table_memory.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "common/large_pages.hpp"

#if defined(__linux__)
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace rankgrove {
namespace {

#if defined(__linux__)

[[noreturn]] void refuse(const std::string& folder, size_t bytes, int error) {
  throw std::runtime_error(folder + ": no room for a temporary file of " +
                           std::to_string((bytes >> 20) + 1) + " MB: " + std::strerror(error));
}

// A file without a name, which is freed with its last page.
int nameless_file(const std::string& folder, size_t bytes) {
#ifdef O_TMPFILE
  int file = open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (file >= 0) return file;
#endif
  std::string name = folder + "/.rankgrove-XXXXXX";
  const int named = mkstemp(name.data());
  if (named < 0) refuse(folder, bytes, errno);
  unlink(name.c_str());
  return named;
}

void* map_file(const std::string& folder, size_t bytes) {
  const int file = nameless_file(folder, bytes);
  const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* data = MAP_FAILED;
  if (error == 0) data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int problem = error != 0 ? error : errno;
  close(file);
  if (data == MAP_FAILED) refuse(folder, bytes, problem);
  madvise(data, bytes, MADV_HUGEPAGE);  // works on some file systems, such as ext4 of Linux 6.18
  return data;
}

#endif

}  // namespace

TableMemory::TableMemory(size_t bytes, const std::string& folder) : bytes_(bytes) {
  if (bytes == 0) return;
#if defined(__linux__)
  if (!folder.empty()) {
    data_ = map_file(folder, bytes);
    mapped_ = true;
    return;
  }
#endif
  data_ = LargePageAllocator<uint8_t>().allocate(bytes);
}

TableMemory::~TableMemory() {
  if (data_ == nullptr) return;
#if defined(__linux__)
  if (mapped_) {
    munmap(data_, bytes_);
    return;
  }
#endif
  LargePageAllocator<uint8_t>().deallocate(static_cast<uint8_t*>(data_), bytes_);
}

void release_pages(const void* begin, const void* end) {
#if defined(__linux__)
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#else
  (void)begin, (void)end;
#endif
}

void release_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace rankgrove
