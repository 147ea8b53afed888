#include "bindings/bindings.hpp"

namespace rankgrove {

void bind_forests(nb::module_&) {}

}  // namespace rankgrove
