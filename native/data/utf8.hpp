#pragma once

namespace rankgrove {

// True if [begin, end) is well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(const char* begin, const char* end);

}  // namespace rankgrove
