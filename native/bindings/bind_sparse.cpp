#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/sparse_arguments.hpp"

namespace rankgrove {
namespace {

bool rows_ascend(In<int64_t> starts, In<int32_t> columns, int32_t n_features, int n_threads) {
  return checked_order(starts, columns, n_features, n_threads) == RowOrder::kAscending;
}

template <typename T>
void dense_rows(In<int64_t> starts, In<int32_t> columns, In<T> values, T absent, int64_t begin,
                std::optional<In<int32_t>> places, int32_t n_features,
                nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, int n_threads) {
  const SparseMatrix<T> x = checked_sparse(starts, columns, values, n_features, absent, n_threads);
  const auto n_out = static_cast<int64_t>(out.shape(0));
  const auto n_places = static_cast<int64_t>(out.shape(1));
  require(begin >= 0 && begin <= x.n_rows && n_out <= x.n_rows - begin, "rows are out of range");
  require(places || n_places == n_features, "out must have a place for each column");
  if (places) {
    require(places->shape(0) == static_cast<size_t>(n_features), "places has the wrong length");
    for (int32_t f = 0; f < n_features; ++f) {
      require(places->data()[f] >= -1 && places->data()[f] < n_places, "a place is out of range");
    }
  }
  const nb::gil_scoped_release unlocked;
  write_dense(x, begin, begin + n_out, places ? places->data() : nullptr, n_places, n_threads,
              out.data());
}

}  // namespace

void bind_sparse(nb::module_& m) {
  m.def("rows_ascend", &rows_ascend, nb::arg("starts"), nb::arg("columns"), nb::arg("n_features"),
        nb::arg("n_threads"),
        "Whether each row's columns ascend; an error if they are not rows of columns at all.");
  m.def("dense_rows", &dense_rows<float>, nb::arg("starts"), nb::arg("columns"), nb::arg("values"),
        nb::arg("absent"), nb::arg("begin"), nb::arg("places").none(), nb::arg("n_features"),
        nb::arg("out"), nb::arg("n_threads"),
        "Rows from `begin` on into `out`; column c goes to places[c], or nowhere if that is -1.");
  m.def("dense_rows", &dense_rows<double>, nb::arg("starts"), nb::arg("columns"), nb::arg("values"),
        nb::arg("absent"), nb::arg("begin"), nb::arg("places").none(), nb::arg("n_features"),
        nb::arg("out"), nb::arg("n_threads"));
}

}  // namespace rankgrove
