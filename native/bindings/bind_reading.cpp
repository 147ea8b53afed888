#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <string_view>
#include <tuple>

#include "bindings/bindings.hpp"
#include "data/letor_reader.hpp"

namespace rankgrove {
namespace {

// Hands memory from std::malloc over to numpy.
template <typename T, int Dimensions>
auto owned_array(T* data, std::initializer_list<size_t> shape) {
  nb::capsule owner(static_cast<void*>(data), [](void* p) noexcept { std::free(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<Dimensions>>(data, shape, owner);
}

LetorOptions check_options(int64_t n_features, int64_t first_feature, bool with_qid,
                           bool keep_comments, bool negative_labels, bool absent_is_nan,
                           int64_t max_bytes) {
  require(n_features >= -1 && n_features <= kMaxFeatureNumber,
          "n_features must be between 0 and " + std::to_string(kMaxFeatureNumber));
  require(first_feature >= -1 && first_feature <= 1, "first_feature must be 0 or 1");
  require(max_bytes >= 0, "max_bytes must not be negative");
  LetorOptions options;
  options.n_features = n_features;
  options.first_feature = first_feature;
  options.with_ids = with_qid;
  options.keep_comments = keep_comments;
  options.negative_labels = negative_labels;
  options.absent_is_nan = absent_is_nan;
  options.max_bytes = max_bytes;
  return options;
}

int64_t feed(LetorReader& reader, const In<uint8_t>& text, bool last, int n_threads) {
  require(n_threads >= 1, "n_threads must be at least 1");
  require(!reader.spent(), "the arrays have been taken out already");
  const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
  nb::gil_scoped_release release;
  return reader.feed(view, last, n_threads);
}

nb::tuple problem(const LetorReader& reader) {
  const LetorProblem& found = reader.problem();
  return nb::make_tuple(found.line, found.column, found.message,
                        nb::bytes(found.text.data(), found.text.size()));
}

// (X, y, qid or places in the list of ids, ids as bytes or None, comment ends, flags and bytes or
// None)
nb::tuple take(LetorReader& reader) {
  require(!reader.spent(), "the arrays have been taken out already");
  reader.set_spent();
  const auto n_rows = static_cast<size_t>(reader.n_rows());
  nb::object text_ids = nb::none();
  if (reader.ids_are_text()) {
    nb::list list;
    for (const std::string& id : reader.text_ids()) list.append(nb::str(id.data(), id.size()));
    text_ids = list;
  }
  nb::object comments = nb::none();
  if (reader.has_comments()) {
    const auto n_bytes = static_cast<size_t>(reader.n_comment_bytes());
    comments =
        nb::make_tuple(nb::cast(owned_array<int64_t, 1>(reader.take_comment_ends(), {n_rows})),
                       nb::cast(owned_array<uint8_t, 1>(reader.take_comment_flags(), {n_rows})),
                       nb::cast(owned_array<uint8_t, 1>(
                           reinterpret_cast<uint8_t*>(reader.take_comments()), {n_bytes})));
  }
  const auto n_columns = static_cast<size_t>(reader.n_columns());
  return nb::make_tuple(nb::cast(owned_array<float, 2>(reader.take_values(), {n_rows, n_columns})),
                        nb::cast(owned_array<double, 1>(reader.take_labels(), {n_rows})),
                        nb::cast(owned_array<int64_t, 1>(reader.take_ids(), {n_rows})), text_ids,
                        comments);
}

}  // namespace

void bind_reading(nb::module_& m) {
  nb::class_<LetorReader>(m, "LetorReader", "LETOR / svmlight text to arrays, piece by piece.")
      .def(
          "__init__",
          [](LetorReader* self, int64_t n_features, int64_t first_feature, bool with_qid,
             bool keep_comments, bool negative_labels, bool absent_is_nan, int64_t max_bytes) {
            new (self) LetorReader(check_options(n_features, first_feature, with_qid, keep_comments,
                                                 negative_labels, absent_is_nan, max_bytes));
          },
          nb::arg("n_features"), nb::arg("first_feature"), nb::arg("with_qid"),
          nb::arg("keep_comments"), nb::arg("negative_labels"), nb::arg("absent_is_nan"),
          nb::arg("max_bytes"))
      .def("feed", &feed, nb::arg("text"), nb::arg("last"), nb::arg("n_threads"),
           "Read whole lines; the number of bytes used, or -1 (see problem).")
      .def("start_file", &LetorReader::start_file, "Count lines from 1 again.")
      .def("problem", &problem, nb::sig("def problem(self) -> tuple[int, int, str, bytes]"),
           "Line, column, message and offending text of a failed feed.")
      .def(
          "take", &take, nb::sig("def take(self) -> tuple[object, object, object, object, object]"),
          "X, y, qid (or places in the ids), text ids or None, comments or None; once, at the end.")
      .def_prop_ro("n_rows", &LetorReader::n_rows)
      .def_prop_ro("n_features", &LetorReader::n_columns)
      .def_prop_ro("first_feature", &LetorReader::first_feature);
}

}  // namespace rankgrove
