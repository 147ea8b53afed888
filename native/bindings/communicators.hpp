// Conversion of Python communicators for kernels.
#pragma once

#include <memory>

#include "bindings/shared_object.hpp"
#include "distributed/communicator.hpp"

namespace rankgrove {

// None is one worker with all data (null); a native mesh is taken as it is; any other object has
// the methods of rankgrove.workers.communicator.Communicator.
std::shared_ptr<Communicator> as_communicator(const nb::object& object);

}  // namespace rankgrove
