#include "bindings/bindings.hpp"

namespace rankgrove {

void bind_growing(nb::module_&) {}

}  // namespace rankgrove
