#include "bindings/bindings.hpp"

namespace rankgrove {

void bind_binning(nb::module_&) {}

}  // namespace rankgrove
