// Shared by all binding files: array types, checks, and the functions that module.cpp calls.
//
// Bindings check what Python hands over (shape, range, length) and release the GIL around kernels;
// kernels below them trust their arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rankgrove {

namespace nb = nanobind;

// A read-only one-dimensional contiguous numpy array.
template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// A writable one-dimensional contiguous numpy array, filled in place.
template <typename T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// A read-only matrix with any strides.
template <typename T>
using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

// Hands a vector over to numpy without a copy.
template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const size_t size = owned->size();
  T* data = owned->data();
  nb::capsule owner(owned.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}

inline void require(bool condition, const std::string& message) {
  if (!condition) throw std::invalid_argument(message);
}

// For loops: the message is made only if it is needed.
inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// The value of a name, or an error that lists the names.
template <typename T>
T named(const std::map<std::string, T>& values, const std::string& name, const char* what) {
  const auto found = values.find(name);
  if (found != values.end()) return found->second;
  std::string known;
  for (const auto& [other, value] : values) known += (known.empty() ? "" : ", ") + other;
  throw std::invalid_argument(std::string(what) + " must be one of " + known + ", not '" + name +
                              "'");
}

void bind_reading(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_binning(nb::module_& m);
void bind_growing(nb::module_& m);
void bind_objectives(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_forests(nb::module_& m);
void bind_grown_forests(nb::module_& m);
void bind_sharded_forests(nb::module_& m);
void bind_scoring(nb::module_& m);
void bind_explain(nb::module_& m);
void bind_distributed(nb::module_& m);

}  // namespace rankgrove
