#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <string_view>
#include <tuple>

#include "bindings/bindings.hpp"
#include "data/json_rows.hpp"
#include "data/letor_reader.hpp"
#include "data/letor_writer.hpp"

namespace rankgrove {
namespace {

// Hands memory over to numpy.
template <typename T, int Dimensions>
nb::object owned_array(MemoryBlock&& memory, std::initializer_list<size_t> shape) {
  auto block = std::make_unique<MemoryBlock>(std::move(memory));
  T* data = static_cast<T*>(block->data());
  nb::capsule owner(block.release(), [](void* p) noexcept { delete static_cast<MemoryBlock*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<Dimensions>>(data, shape, owner));
}

const char* problem_name(JsonProblem problem) {
  switch (problem) {
    case JsonProblem::kNone:
      return "";
    case JsonProblem::kRepeatedKey:
      return "repeated";
    case JsonProblem::kTooManyEntries:
      return "too many entries";
    case JsonProblem::kTooManyRows:
      return "too many rows";
    case JsonProblem::kNotRows:
      return "not rows";
    case JsonProblem::kRaggedRow:
      return "ragged";
    case JsonProblem::kNotANumber:
      return "not a number";
    case JsonProblem::kMalformedRow:
      return "malformed";
  }
  return "";
}

nb::object json_rows(const nb::bytes& body, int64_t max_rows) {
  auto found = std::make_unique<JsonRows>();
  const std::string_view text(body.c_str(), body.size());
  bool plain;
  {
    nb::gil_scoped_release release;
    plain = read_json_rows(text, max_rows, *found);
  }
  if (!plain) return nb::none();
  const nb::bytes rest(found->rest.data(), found->rest.size());
  if (found->problem != JsonProblem::kNone) {
    const nb::bytes shown(found->text.data(), found->text.size());
    const auto where =
        nb::make_tuple(problem_name(found->problem), found->row, found->column, shown);
    return nb::make_tuple(where, rest);
  }
  const std::initializer_list<size_t> shape = {static_cast<size_t>(found->n_rows),
                                               static_cast<size_t>(found->n_columns)};
  double* values = found->values.data();
  nb::capsule owner(found.release(), [](void* p) noexcept { delete static_cast<JsonRows*>(p); });
  nb::ndarray<nb::numpy, double, nb::ndim<2>> rows(values, shape, owner);
  return nb::make_tuple(rows, rest);
}

LetorOptions check_options(int64_t n_features, int64_t first_feature, bool with_qid,
                           bool with_features, bool keep_comments, bool negative_labels,
                           bool absent_is_nan, int64_t max_bytes, bool vectorised, bool sparse) {
  require(n_features >= -1 && n_features <= kMaxFeatureNumber,
          "n_features must be between 0 and " + std::to_string(kMaxFeatureNumber));
  require(first_feature >= -1 && first_feature <= 1, "first_feature must be 0 or 1");
  require(max_bytes >= 0, "max_bytes must not be negative");
  LetorOptions options;
  options.n_features = n_features;
  options.first_feature = first_feature;
  options.with_ids = with_qid;
  options.with_features = with_features;
  options.keep_comments = keep_comments;
  options.negative_labels = negative_labels;
  options.absent_is_nan = absent_is_nan;
  options.max_bytes = max_bytes;
  options.vectorised = vectorised;
  options.sparse = sparse;
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
    comments = nb::make_tuple(owned_array<int64_t, 1>(reader.take_comment_ends(), {n_rows}),
                              owned_array<uint8_t, 1>(reader.take_comment_flags(), {n_rows}),
                              owned_array<uint8_t, 1>(reader.take_comments(), {n_bytes}));
  }
  const auto n_columns = static_cast<size_t>(reader.n_columns());
  nb::object features;
  if (reader.sparse()) {
    const auto n_entries = static_cast<size_t>(reader.n_entries());
    features = nb::make_tuple(owned_array<int64_t, 1>(reader.take_row_starts(), {n_rows + 1}),
                              owned_array<int32_t, 1>(reader.take_entry_columns(), {n_entries}),
                              owned_array<float, 1>(reader.take_entry_values(), {n_entries}));
  } else {
    features = owned_array<float, 2>(reader.take_values(), {n_rows, n_columns});
  }
  return nb::make_tuple(features, owned_array<double, 1>(reader.take_labels(), {n_rows}),
                        owned_array<int64_t, 1>(reader.take_ids(), {n_rows}), text_ids, comments);
}

// Checks that offsets lie in order inside the bytes, and returns both.
PackedTexts packed_texts(const In<int64_t>& offsets, const In<uint8_t>& bytes, size_t n_texts,
                         const std::string& name) {
  require(offsets.size() == n_texts + 1, name + ": wrong number of offsets");
  const int64_t* o = offsets.data();
  require(o[0] >= 0, name + ": negative offset");
  for (size_t i = 0; i < n_texts; ++i) require(o[i] <= o[i + 1], name + ": offsets decrease");
  require(o[n_texts] <= static_cast<int64_t>(bytes.size()), name + ": offset beyond the text");
  return {o, reinterpret_cast<const char*>(bytes.data())};
}

// Keeps the arrays that a LetorTable points into.
class LetorWriter {
 public:
  LetorWriter(InMatrix<float> X, In<double> y, In<int64_t> query, In<int64_t> id_offsets,
              In<uint8_t> id_bytes, int64_t first_feature, int omission)
      : X_(X), y_(y), query_(query), id_offsets_(id_offsets), id_bytes_(id_bytes) {
    const size_t n_rows = X_.shape(0);
    require(y_.size() == n_rows && query_.size() == n_rows, "X, y and query differ in length");
    require(id_offsets_.size() >= 1, "id_offsets is empty");
    const size_t n_ids = id_offsets_.size() - 1;
    table_.ids = packed_texts(id_offsets_, id_bytes_, n_ids, "ids");
    for (size_t i = 0; i < n_rows; ++i) {
      require(query_.data()[i] >= 0 && query_.data()[i] < static_cast<int64_t>(n_ids),
              "query is out of range");
    }
    require(first_feature == 0 || first_feature == 1, "first_feature must be 0 or 1");
    require(omission >= 0 && omission <= 2, "omission must be 0, 1 or 2");
    table_.values = X_.data();
    table_.row_stride = X_.stride(0);
    table_.column_stride = X_.stride(1);
    table_.n_columns = static_cast<int64_t>(X_.shape(1));
    table_.labels = y_.data();
    table_.query = query_.data();
    table_.first_feature = first_feature;
    table_.omission = static_cast<Omission>(omission);
  }

  void set_comments(In<uint8_t> present, In<int64_t> offsets, In<uint8_t> bytes) {
    require(present.size() == X_.shape(0), "present has the wrong length");
    table_.comments = packed_texts(offsets, bytes, X_.shape(0), "comments");
    table_.has_comment = present.data();
    present_ = present;
    comment_offsets_ = offsets;
    comment_bytes_ = bytes;
  }

  nb::list rows(int64_t begin, int64_t end, int n_threads) const {
    require(begin >= 0 && begin <= end && end <= static_cast<int64_t>(X_.shape(0)),
            "rows are out of range");
    require(n_threads >= 1, "n_threads must be at least 1");
    std::vector<std::string> pieces;
    {
      nb::gil_scoped_release release;
      pieces = format_letor(table_, begin, end, n_threads);
    }
    nb::list result;
    for (const std::string& piece : pieces) result.append(nb::bytes(piece.data(), piece.size()));
    return result;
  }

 private:
  InMatrix<float> X_;
  In<double> y_;
  In<int64_t> query_;
  In<int64_t> id_offsets_;
  In<uint8_t> id_bytes_;
  In<uint8_t> present_;
  In<int64_t> comment_offsets_;
  In<uint8_t> comment_bytes_;
  LetorTable table_;
};

}  // namespace

void bind_reading(nb::module_& m) {
  nb::class_<LetorReader>(m, "LetorReader", "LETOR / svmlight text to arrays, piece by piece.")
      .def(
          "__init__",
          [](LetorReader* self, int64_t n_features, int64_t first_feature, bool with_qid,
             bool keep_comments, bool negative_labels, bool absent_is_nan, int64_t max_bytes,
             bool with_features, bool vectorised, bool sparse) {
            new (self) LetorReader(check_options(n_features, first_feature, with_qid, with_features,
                                                 keep_comments, negative_labels, absent_is_nan,
                                                 max_bytes, vectorised, sparse));
          },
          nb::arg("n_features"), nb::arg("first_feature"), nb::arg("with_qid"),
          nb::arg("keep_comments"), nb::arg("negative_labels"), nb::arg("absent_is_nan"),
          nb::arg("max_bytes"), nb::arg("with_features") = true, nb::arg("vectorised") = true,
          nb::arg("sparse") = false)
      .def("feed", &feed, nb::arg("text"), nb::arg("last"), nb::arg("n_threads"),
           "Read whole lines; the number of bytes used, or -1 (see problem).")
      .def("start_after", &LetorReader::start_after, nb::arg("n_lines"),
           "Count lines as if so many had been read.")
      .def("problem", &problem, nb::sig("def problem(self) -> tuple[int, int, str, bytes]"),
           "Line, column, message and offending text of a failed feed.")
      .def(
          "take", &take, nb::sig("def take(self) -> tuple[object, object, object, object, object]"),
          "X, y, qid (or places in the ids), text ids or None, comments or None; once, at the end. "
          "A sparse X is a tuple: where rows start, columns and values of entries.")
      .def_prop_ro("n_lines", &LetorReader::n_lines)
      .def_prop_ro("n_rows", &LetorReader::n_rows)
      .def_prop_ro("n_features", &LetorReader::n_columns)
      .def_prop_ro("sparse", &LetorReader::sparse)
      .def_prop_ro("n_entries", &LetorReader::n_entries, "Entries of a sparse matrix so far.")
      .def_prop_ro("first_feature", &LetorReader::first_feature);
  m.attr("MAX_QUERY_ID_BYTES") = kMaxQueryIdBytes;
  nb::class_<LetorWriter>(m, "LetorWriter", "Arrays to LETOR text, some rows at a time.")
      .def(nb::init<InMatrix<float>, In<double>, In<int64_t>, In<int64_t>, In<uint8_t>, int64_t,
                    int>(),
           nb::arg("X"), nb::arg("y"), nb::arg("query"), nb::arg("id_offsets"), nb::arg("id_bytes"),
           nb::arg("first_feature"), nb::arg("omission"),
           "omission: 0 writes every feature, 1 leaves out zeros, 2 leaves out NaN.")
      .def("set_comments", &LetorWriter::set_comments, nb::arg("present"), nb::arg("offsets"),
           nb::arg("bytes"))
      .def("rows", &LetorWriter::rows, nb::arg("begin"), nb::arg("end"), nb::arg("n_threads"),
           nb::sig("def rows(self, begin: int, end: int, n_threads: int) -> list[bytes]"),
           "Text of some rows, in pieces.");
  m.def("read_json_rows", &json_rows, nb::arg("body"), nb::arg("max_rows"),
        nb::sig("def read_json_rows(body: bytes, max_rows: int) -> "
                "tuple[NDArray[numpy.float64] | tuple[str, int, int, bytes], bytes] | None"),
        "The numbers of 'rows' of a JSON object, or what is wrong with them (problem, row, column, "
        "text), and the object with [] instead, which is not checked. None: see what a parser of "
        "all JSON says.");
}

}  // namespace rankgrove
