#include "bindings/bindings.hpp"

namespace rankgrove {

void bind_reading(nb::module_&) {}

}  // namespace rankgrove
