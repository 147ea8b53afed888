// Python objects that kernels keep while the GIL is released.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"

namespace rankgrove {

// A reference to a Python object that may be copied and dropped without the GIL: all copies share
// one Python reference, and the last one takes the GIL to give it back. Made with the GIL held.
template <typename Object>
std::shared_ptr<const Object> shared_object(Object object) {
  return {new Object(std::move(object)), [](const Object* owned) {
            nb::gil_scoped_acquire locked;
            delete owned;
          }};
}

// What a function calls itself, for messages.
inline std::string name_of(nb::handle function) {
  const nb::object name = nb::getattr(function, "__name__", nb::none());
  return name.is_none() ? nb::cast<std::string>(nb::repr(function))
                        : "'" + nb::cast<std::string>(nb::str(name)) + "'";
}

}  // namespace rankgrove
