// Conversion of Python communicators for kernels.
#pragma once

#include <memory>

#include "bindings/shared_object.hpp"
#include "distributed/communicator.hpp"

namespace rankgrove {

// None is one worker with all data (null); a native star is taken as it is; any other object is
// asked for its methods `sum` and `maximum` of an int64 array, in place.
std::shared_ptr<Communicator> as_communicator(const nb::object& object);

}  // namespace rankgrove
