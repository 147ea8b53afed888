#include <utility>

#include "bindings/bindings.hpp"
#include "explain/shapley.hpp"

namespace rankgrove {

namespace {

// The arrays of a rankgrove.trees.ensemble.TreeEnsemble, kept alive while they are looked at.
class EnsembleView {
 public:
  explicit EnsembleView(nb::handle ensemble)
      : tree_offsets_(field<int64_t>(ensemble, "tree_offsets")),
        tree_weights_(field<double>(ensemble, "tree_weights")),
        tree_outputs_(field<int32_t>(ensemble, "tree_outputs")),
        base_score_(field<double>(ensemble, "base_score")),
        feature_(field<int32_t>(ensemble, "feature")),
        threshold_(field<float>(ensemble, "threshold")),
        left_(field<int32_t>(ensemble, "left")),
        missing_left_(field<uint8_t>(ensemble, "missing_left")),
        value_(field<double>(ensemble, "value")),
        count_(field<uint32_t>(ensemble, "count")) {
    arrays_ = {
        {nb::cast<int64_t>(ensemble.attr("n_features")), as_span(tree_offsets_),
         as_span(tree_weights_), as_span(tree_outputs_), as_span(base_score_), as_span(feature_),
         as_span(threshold_), as_span(left_), as_span(missing_left_), as_span(value_)},
        as_span(count_)};
    check_ensemble(arrays_);
    require(arrays_.count.size() == arrays_.feature.size(), "count must have one value per node");
  }

  const CountedEnsemble& arrays() const { return arrays_; }

 private:
  template <typename T>
  static In<T> field(nb::handle ensemble, const char* name) {
    return nb::cast<In<T>>(ensemble.attr(name));
  }
  template <typename T>
  static std::span<const T> as_span(const In<T>& array) {
    return {array.data(), array.size()};
  }

  In<int64_t> tree_offsets_;
  In<double> tree_weights_;
  In<int32_t> tree_outputs_;
  In<double> base_score_;
  In<int32_t> feature_;
  In<float> threshold_;
  In<int32_t> left_;
  In<uint8_t> missing_left_;
  In<double> value_;
  In<uint32_t> count_;
  CountedEnsemble arrays_;
};

std::vector<float> per_feature(const In<float>& values, int64_t n_features, const char* name) {
  require(values.size() == 0 || static_cast<int64_t>(values.size()) == n_features,
          std::string(name) + " must have one value per feature, or none");
  return {values.data(), values.data() + values.size()};
}

template <typename T>
void add_effects(nb::handle ensemble, const In<float>& fill, const In<float>& missing_up_to,
                 const InMatrix<T>& x, int n_threads, const Out<double>& effects, bool pairs) {
  const EnsembleView view(ensemble);
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
        const EnsembleView view(ensemble);
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
