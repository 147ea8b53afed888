#include "bindings/bindings.hpp"

namespace rankgrove {

void bind_scoring(nb::module_&) {}

}  // namespace rankgrove
