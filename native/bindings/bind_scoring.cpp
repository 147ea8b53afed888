#include "bindings/bindings.hpp"
#include "scoring/ensemble.hpp"
#include "scoring/scorer.hpp"

namespace rankgrove {

namespace {

template <typename T>
std::span<const T> as_span(const In<T>& array) {
  return {array.data(), array.size()};
}

EnsembleArrays ensemble_arrays(int64_t n_features, const In<int64_t>& tree_offsets,
                               const In<double>& tree_weights, const In<int32_t>& tree_outputs,
                               const In<double>& base_score, const In<int32_t>& feature,
                               const In<float>& threshold, const In<int32_t>& left,
                               const In<uint8_t>& missing_left, const In<double>& value) {
  EnsembleArrays ensemble{n_features,
                          as_span(tree_offsets),
                          as_span(tree_weights),
                          as_span(tree_outputs),
                          as_span(base_score),
                          as_span(feature),
                          as_span(threshold),
                          as_span(left),
                          as_span(missing_left),
                          as_span(value)};
  nb::gil_scoped_release released;
  check_ensemble(ensemble);
  return ensemble;
}

using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A value per feature, or none at all.
std::vector<float> per_feature(const In<float>& values, int64_t n_features, const char* name) {
  require(values.size() == 0 || static_cast<int64_t>(values.size()) == n_features,
          std::string(name) + " must have one value per feature, or none");
  return {values.data(), values.data() + values.size()};
}

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
      "check_ensemble",
      [](int64_t n_features, const In<int64_t>& tree_offsets, const In<double>& tree_weights,
         const In<int32_t>& tree_outputs, const In<double>& base_score, const In<int32_t>& feature,
         const In<float>& threshold, const In<int32_t>& left, const In<uint8_t>& missing_left,
         const In<double>& value) {
        ensemble_arrays(n_features, tree_offsets, tree_weights, tree_outputs, base_score, feature,
                        threshold, left, missing_left, value);
      },
      nb::arg("n_features"), nb::arg("tree_offsets"), nb::arg("tree_weights"),
      nb::arg("tree_outputs"), nb::arg("base_score"), nb::arg("feature"), nb::arg("threshold"),
      nb::arg("left"), nb::arg("missing_left"), nb::arg("value"));
  nb::class_<Scorer>(m, "Scorer")
      .def(
          "__init__",
          [](Scorer* self, int64_t n_features, const In<int64_t>& tree_offsets,
             const In<double>& tree_weights, const In<int32_t>& tree_outputs,
             const In<double>& base_score, const In<int32_t>& feature, const In<float>& threshold,
             const In<int32_t>& left, const In<uint8_t>& missing_left, const In<double>& value,
             const In<float>& fill, const In<float>& missing_up_to, bool walk, bool simd) {
            const auto ensemble =
                ensemble_arrays(n_features, tree_offsets, tree_weights, tree_outputs, base_score,
                                feature, threshold, left, missing_left, value);
            const MissingPolicy missing{per_feature(fill, n_features, "fill"),
                                        per_feature(missing_up_to, n_features, "missing_up_to")};
            nb::gil_scoped_release released;
            new (self) Scorer(ensemble, missing,
                              walk ? ScoringMethod::walk : ScoringMethod::fastest, simd);
          },
          nb::arg("n_features"), nb::arg("tree_offsets"), nb::arg("tree_weights"),
          nb::arg("tree_outputs"), nb::arg("base_score"), nb::arg("feature"), nb::arg("threshold"),
          nb::arg("left"), nb::arg("missing_left"), nb::arg("value"), nb::arg("fill"),
          nb::arg("missing_up_to"), nb::arg("walk"), nb::arg("simd"))
      .def("predict", &predict<float>, nb::arg("x").noconvert(), nb::arg("n_threads"),
           nb::arg("out").noconvert(), nb::arg("go_on") = false)
      .def("predict", &predict<double>, nb::arg("x").noconvert(), nb::arg("n_threads"),
           nb::arg("out").noconvert(), nb::arg("go_on") = false);
}

}  // namespace rankgrove
