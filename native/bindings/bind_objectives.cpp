#include "bindings/bindings.hpp"

namespace rankgrove {

void bind_objectives(nb::module_&) {}

}  // namespace rankgrove
