#include <limits>

#include "bindings/bindings.hpp"
#include "bindings/ensemble_view.hpp"
#include "scoring/scorer.hpp"

namespace rankgrove {

namespace {

using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
void predict(const Scorer& scorer, const InMatrix<T>& x, int n_threads, const OutMatrix& out,
             bool go_on) {
  if (static_cast<int64_t>(x.shape(1)) != scorer.n_features()) {
    throw std::invalid_argument("X has " + std::to_string(x.shape(1)) +
                                " features but the model was built on " +
                                std::to_string(scorer.n_features()));
  }
  require(n_threads >= 1, "n_threads must be at least 1");
  require(out.shape(0) == x.shape(0) && static_cast<int32_t>(out.shape(1)) == scorer.n_outputs(),
          "out does not have one row per row of X and one column per output");
  const StridedRows<T> matrix{x.data(), static_cast<int64_t>(x.shape(0)), x.stride(0), x.stride(1)};
  double* scores = out.data();
  nb::gil_scoped_release released;
  scorer.predict(matrix, n_threads, go_on, scores);
}

}  // namespace

void bind_scoring(nb::module_& m) {
  m.def(
      "check_ensemble", [](nb::handle ensemble) { EnsembleView{ensemble}; }, nb::arg("ensemble"),
      "Raise ValueError unless the trees are well formed.");
  nb::class_<Scorer>(m, "Scorer")
      .def(
          "__init__",
          [](Scorer* self, nb::handle ensemble, const In<float>& fill,
             const In<float>& missing_up_to, const In<double>& precise, bool walk,
             int32_t vector_bits) {
            const EnsembleView view(ensemble);
            EnsembleArrays arrays = view.arrays();
            arrays.precise = as_span(precise);
            require(precise.size() == 0 || precise.size() == arrays.feature.size(),
                    "precise must have one threshold per node, or none");
            for (double threshold : arrays.precise) {
              require(threshold > -std::numeric_limits<double>::infinity(),
                      "a precise threshold is NaN or -inf");
            }
            const MissingPolicy missing{
                per_feature(fill, arrays.n_features, "fill"),
                per_feature(missing_up_to, arrays.n_features, "missing_up_to")};
            nb::gil_scoped_release released;
            new (self) Scorer(arrays, missing,
                              walk ? ScoringMethod::kWalk : ScoringMethod::kFastest, vector_bits);
          },
          nb::arg("ensemble"), nb::arg("fill"), nb::arg("missing_up_to"), nb::arg("precise"),
          nb::arg("walk"), nb::arg("vector_bits"))
      .def("predict", &predict<float>, nb::arg("x").noconvert(), nb::arg("n_threads"),
           nb::arg("out").noconvert(), nb::arg("go_on") = false)
      .def("predict", &predict<double>, nb::arg("x").noconvert(), nb::arg("n_threads"),
           nb::arg("out").noconvert(), nb::arg("go_on") = false);
}

}  // namespace rankgrove
