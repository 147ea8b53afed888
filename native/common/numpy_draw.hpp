// Numbers drawn without replacement as numpy draws them.
//
// Models depend on these numbers, and numpy takes some 40 us to seed a generator and draw, more
// than the smallest trees cost. For [seed, stream], numpy.random.default_rng hashes the two to the
// state of a PCG64 generator, and choice(total, size, replace=False, shuffle=False) draws by one of
// two methods. Of 5 numbers, two by Floyd's method: one of 0..3, say 2, and one of 0..4; if that is
// 2 again, 4 instead. Of many, by the end of a shuffle: a number of 0..4 changes places with 4, one
// of 0..3 with what is now at 3, and the last two are drawn.
#pragma once

#include <cstdint>
#include <vector>

namespace rankgrove {

// default_rng([seed, stream]).choice(total, size, replace=False, shuffle=False), ascending.
// 0 <= size <= total < 2^31.
std::vector<int32_t> numpy_draw(uint64_t seed, uint64_t stream, int32_t total, int32_t size);

}  // namespace rankgrove
