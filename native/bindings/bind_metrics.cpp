#include "bindings/bindings.hpp"

namespace rankgrove {

void bind_metrics(nb::module_&) {}

}  // namespace rankgrove
