#include "data/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace rankgrove {

bool is_utf8(const char* begin, const char* end) {
  const char* p = begin;
  while (p != end) {
    if (end - p >= 8) {
      uint64_t word;
      std::memcpy(&word, p, 8);
      if ((word & 0x8080808080808080ull) == 0) {
        p += 8;
        continue;
      }
    }
    const auto lead = static_cast<uint8_t>(*p++);
    if (lead < 0x80) continue;
    const int length = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || end - p < length) return false;
    uint32_t code = lead & (0x3f >> length);
    for (int i = 0; i < length; ++i) {
      const auto next = static_cast<uint8_t>(*p++);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    if (length == 2 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))) return false;
    if (length == 3 && (code < 0x10000 || code > 0x10ffff)) return false;
  }
  return true;
}

}  // namespace rankgrove
