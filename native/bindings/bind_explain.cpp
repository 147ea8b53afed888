#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/ensemble_view.hpp"
#include "explain/shapley.hpp"

namespace rankgrove {

namespace {

// An ensemble with the numbers of documents at its nodes.
class CountedView {
 public:
  explicit CountedView(nb::handle ensemble)
      : view_(ensemble),
        count_(array_field<double>(ensemble, "count")),
        arrays_{view_.arrays(), as_span(count_)} {
    require(arrays_.count.size() == arrays_.feature.size(), "count must have one value per node");
  }

  const CountedEnsemble& arrays() const { return arrays_; }

 private:
  EnsembleView view_;
  In<double> count_;
  CountedEnsemble arrays_;
};

template <typename T>
void add_effects(nb::handle ensemble, const In<float>& fill, const In<float>& missing_up_to,
                 const InMatrix<T>& x, int n_threads, const Out<double>& effects, bool pairs) {
  const CountedView view(ensemble);
  const CountedEnsemble& arrays = view.arrays();
  require(static_cast<int64_t>(x.shape(1)) == arrays.n_features,
          "x must have one column per feature");
  require(n_threads >= 1, "n_threads must be at least 1");
  const size_t n_entries = x.shape(0) * arrays.n_outputs() * x.shape(1) * (pairs ? x.shape(1) : 1);
  require(effects.size() == n_entries, "effects must have an entry for each row and feature");
  const MissingPolicy missing{per_feature(fill, arrays.n_features, "fill"),
                              per_feature(missing_up_to, arrays.n_features, "missing_up_to")};
  const StridedRows<T> matrix{x.data(), static_cast<int64_t>(x.shape(0)), x.stride(0), x.stride(1)};
  double* out = effects.data();
  nb::gil_scoped_release released;
  add_shapley_values(arrays, missing, matrix, pairs, n_threads, out);
}

}  // namespace

void bind_explain(nb::module_& m) {
  m.def(
      "expected_scores",
      [](nb::handle ensemble) {
        const CountedView view(ensemble);
        std::vector<double> scores(view.arrays().n_outputs());
        expected_scores(view.arrays(), scores.data());
        return to_numpy(std::move(scores));
      },
      nb::arg("ensemble"), "Mean score of the training documents, for each output.");
  m.def("add_shapley_values", &add_effects<float>, nb::arg("ensemble"), nb::arg("fill"),
        nb::arg("missing_up_to"), nb::arg("x").noconvert(), nb::arg("n_threads"),
        nb::arg("effects").noconvert(), nb::arg("pairs"));
  m.def("add_shapley_values", &add_effects<double>, nb::arg("ensemble"), nb::arg("fill"),
        nb::arg("missing_up_to"), nb::arg("x").noconvert(), nb::arg("n_threads"),
        nb::arg("effects").noconvert(), nb::arg("pairs"));
}

}  // namespace rankgrove
