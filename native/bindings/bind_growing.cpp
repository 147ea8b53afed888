#include "bindings/bindings.hpp"
#include "trees/tree.hpp"

namespace rankgrove {
namespace {

// A numpy view of one of the tree's arrays that keeps the tree alive.
template <auto Member>
auto array_of(nb::handle self) {
  auto& values = nb::cast<Tree&>(self).*Member;
  using T = typename std::remove_reference_t<decltype(values)>::value_type;
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data(), {values.size()}, self);
}

}  // namespace

void bind_growing(nb::module_& m) {
  nb::class_<Tree>(m, "Tree", "One grown tree; its arrays are views, and `value` may be written.")
      .def_prop_ro("feature", &array_of<&Tree::feature>)
      .def_prop_ro("threshold", &array_of<&Tree::threshold>)
      .def_prop_ro("left", &array_of<&Tree::left>)
      .def_prop_ro("missing_left", &array_of<&Tree::missing_left>)
      .def_prop_ro("value", &array_of<&Tree::value>)
      .def_prop_ro("count", &array_of<&Tree::count>)
      .def_prop_ro("gain", &array_of<&Tree::gain>)
      .def_prop_ro("n_nodes", &Tree::n_nodes);
}

}  // namespace rankgrove
