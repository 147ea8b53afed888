// A native view of rankgrove.trees.ensemble.TreeEnsemble, by which all bindings take finished
// trees.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "scoring/ensemble.hpp"

namespace rankgrove {

template <typename T>
std::span<const T> as_span(const In<T>& array) {
  return {array.data(), array.size()};
}

// An array that is a field of a Python object; TypeError names the field if it is something else.
template <typename T>
In<T> array_field(nb::handle object, const char* name) {
  In<T> array;
  if (!nb::try_cast(object.attr(name), array)) {
    throw nb::type_error((std::string(name) + " is not an array of the right type").c_str());
  }
  return array;
}

// A whole number that is a field of a Python object.
inline int64_t whole_field(nb::handle object, const char* name) {
  int64_t number = 0;
  if (!nb::try_cast(object.attr(name), number)) {
    throw nb::value_error((std::string(name) + " is not a whole number of 64 bits").c_str());
  }
  return number;
}

// The arrays of the ensemble, checked, and kept alive while they are used.
class EnsembleView {
 public:
  explicit EnsembleView(nb::handle ensemble)
      : tree_offsets_(array_field<int64_t>(ensemble, "tree_offsets")),
        tree_weights_(array_field<double>(ensemble, "tree_weights")),
        tree_outputs_(array_field<int32_t>(ensemble, "tree_outputs")),
        base_score_(array_field<double>(ensemble, "base_score")),
        feature_(array_field<int32_t>(ensemble, "feature")),
        threshold_(array_field<float>(ensemble, "threshold")),
        left_(array_field<int32_t>(ensemble, "left")),
        missing_left_(array_field<uint8_t>(ensemble, "missing_left")),
        value_(array_field<double>(ensemble, "value")),
        arrays_{whole_field(ensemble, "n_features"),
                as_span(tree_offsets_),
                as_span(tree_weights_),
                as_span(tree_outputs_),
                as_span(base_score_),
                as_span(feature_),
                as_span(threshold_),
                as_span(left_),
                as_span(missing_left_),
                as_span(value_),
                {}} {
    if (const nb::object sets = ensemble.attr("category_sets"); !sets.is_none()) {
      set_of_node_ = array_field<int32_t>(sets, "of_node");
      set_offsets_ = array_field<int64_t>(sets, "offsets");
      set_words_ = array_field<uint32_t>(sets, "words");
      arrays_.set_of_node = as_span(set_of_node_);
      arrays_.set_offsets = as_span(set_offsets_);
      arrays_.set_words = as_span(set_words_);
    }
    nb::gil_scoped_release released;
    check_ensemble(arrays_);
  }

  const EnsembleArrays& arrays() const { return arrays_; }

 private:
  In<int64_t> tree_offsets_;
  In<double> tree_weights_;
  In<int32_t> tree_outputs_;
  In<double> base_score_;
  In<int32_t> feature_;
  In<float> threshold_;
  In<int32_t> left_;
  In<uint8_t> missing_left_;
  In<double> value_;
  In<int32_t> set_of_node_;
  In<int64_t> set_offsets_;
  In<uint32_t> set_words_;
  EnsembleArrays arrays_;
};

// A value per feature, or none at all.
inline std::vector<float> per_feature(const In<float>& values, int64_t n_features,
                                      const char* name) {
  require(values.size() == 0 || static_cast<int64_t>(values.size()) == n_features,
          std::string(name) + " must have one value per feature, or none");
  return {values.data(), values.data() + values.size()};
}

}  // namespace rankgrove
