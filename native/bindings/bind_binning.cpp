#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/column_tables.hpp"
#include "bindings/shared_object.hpp"
#include "bindings/sparse_arguments.hpp"
#include "trees/binning.hpp"
#include "trees/ordered_sums.hpp"
#include "trees/value_runs.hpp"

namespace rankgrove {
namespace {

const std::map<std::string, BinRule> kBinRules = {
    {"quantile", BinRule::kQuantile},
    {"greedy-log-sum", BinRule::kGreedyLogSum},
};

void require_bins(int32_t max_bins, int64_t n_rows, size_t n_fill, int32_t n_features) {
  require(max_bins >= 2 && max_bins <= kMaxBins16,
          "max_bins must lie in 2..65534, not " + std::to_string(max_bins));
  require(n_rows < (int64_t{1} << 31), "a binned matrix holds at most 2^31 - 1 rows");
  require(n_fill == static_cast<size_t>(n_features), "fill must have one value per feature");
}

// The runs of the columns of a block of matrices: keys, counts and the number of missing values.
nb::list value_runs_checked(const std::vector<AnyMatrix>& parts, int64_t n_rows, In<float> fill,
                            int n_threads) {
  require(n_rows >= 0 && n_rows < (int64_t{1} << 31), "a column holds at most 2^31 - 1 rows");
  const ColumnTable table = column_table(parts, n_rows);
  require(table.columns.size() == fill.shape(0), "fill must have one value per feature");
  std::vector<ValueRuns> runs;
  {
    nb::gil_scoped_release unlocked;
    runs = value_runs(table, n_rows, {fill.data(), fill.shape(0)}, n_threads);
  }
  nb::list result;
  for (ValueRuns& one : runs) {
    result.append(nb::make_tuple(to_numpy(std::move(one.keys)), to_numpy(std::move(one.counts)),
                                 one.n_missing));
  }
  return result;
}

DistinctValues distinct_of(const In<uint32_t>& keys, const In<int64_t>& counts) {
  require(keys.shape(0) == counts.shape(0), "runs need a count for each key");
  DistinctValues distinct;
  for (size_t i = 0; i < keys.shape(0); ++i) distinct.values.push_back(key_value(keys.data()[i]));
  distinct.counts.assign(counts.data(), counts.data() + counts.shape(0));
  return distinct;
}

std::unique_ptr<RunBins> make_run_bins(int32_t max_bins, const std::string& rule, In<uint32_t> keys,
                                       In<int64_t> counts, int64_t n_rows) {
  require_bins(max_bins, 0, 0, 0);
  return std::make_unique<RunBins>(BinLimit{max_bins, named(kBinRules, rule, "binning")},
                                   distinct_of(keys, counts), n_rows);
}

// Row numbers, or null for all rows as they are.
const int64_t* checked_rows(const std::optional<In<int64_t>>& rows, int64_t n_rows) {
  if (!rows) return nullptr;
  for (size_t i = 0; i < rows->shape(0); ++i) {
    require(rows->data()[i] >= 0 && rows->data()[i] < n_rows,
            "row number " + std::to_string(rows->data()[i]) + " is out of range");
  }
  return rows->data();
}

// Goes through blocks of columns, each a list of matrices, which Python makes one after the other.
template <typename Take>
void for_each_block(const nb::iterable& blocks, int64_t n_rows, const Take& take) {
  for (const nb::handle block : blocks) {
    const auto parts = nb::cast<std::vector<AnyMatrix>>(block);
    const ColumnTable table = column_table(parts, n_rows);
    nb::gil_scoped_release unlocked;
    take(table);
  }
}

std::shared_ptr<const Bins> find_bins_checked(nb::iterable blocks, int64_t n_rows,
                                              std::optional<In<int64_t>> rows, int32_t max_bins,
                                              const std::string& rule, In<float> fill,
                                              int n_threads) {
  const size_t n_features = fill.shape(0);
  require_bins(max_bins, n_rows, n_features, static_cast<int32_t>(n_features));
  const int64_t* numbers = checked_rows(rows, n_rows);
  const TableRows read{numbers, rows ? static_cast<int64_t>(rows->shape(0)) : n_rows};
  BinFinder finder({max_bins, named(kBinRules, rule, "binning")},
                   std::vector<float>(fill.data(), fill.data() + n_features));
  for_each_block(blocks, n_rows, [&](const ColumnTable& table) {
    require(table.columns.size() <= n_features - finder.n_done(),
            "fill must have one value per feature");
    finder.add(table, read, n_threads);
  });
  require(finder.n_done() == n_features, "fill must have one value per feature");
  return finder.bins();
}

std::shared_ptr<BinnedMatrix> bin_matrix_checked(nb::iterable blocks, int64_t n_rows,
                                                 std::shared_ptr<const Bins> bins,
                                                 std::optional<In<int64_t>> rows, int n_threads) {
  require(n_rows >= 0 && n_rows < (int64_t{1} << 31),
          "a binned matrix holds at most 2^31 - 1 rows");
  const int64_t* numbers = checked_rows(rows, n_rows);
  const int64_t n_coded = rows ? static_cast<int64_t>(rows->shape(0)) : n_rows;
  require(n_coded < (int64_t{1} << 31), "a binned matrix holds at most 2^31 - 1 rows");
  const auto n_features = static_cast<int64_t>(bins->n_features());
  const auto require_features = [&](int64_t n, bool as_wanted) {
    require(as_wanted, "X has " + std::to_string(n) + " features but the bins have " +
                           std::to_string(n_features));
  };
  Coder coder(std::move(bins), n_coded);
  for_each_block(blocks, n_rows, [&](const ColumnTable& table) {
    const int64_t n = coder.n_done() + static_cast<int64_t>(table.columns.size());
    require_features(n, n <= n_features);
    coder.add(table, numbers, n_threads);
  });
  require_features(coder.n_done(), coder.n_done() == n_features);
  return coder.result();
}

std::shared_ptr<const Bins> find_sparse_bins(In<int64_t> starts, In<int32_t> columns,
                                             In<float> values, int32_t n_features, float absent,
                                             int32_t max_bins, const std::string& rule,
                                             In<float> fill, int n_threads) {
  const SparseView view = checked_sparse(starts, columns, values, n_features, absent, n_threads);
  require_bins(max_bins, view.n_rows, fill.shape(0), view.n_features);
  const std::vector<float> fill_values(fill.data(), fill.data() + fill.shape(0));
  const BinLimit limit{max_bins, named(kBinRules, rule, "binning")};
  nb::gil_scoped_release unlocked;
  return find_bins(view, limit, fill_values, n_threads);
}

std::shared_ptr<BinnedMatrix> bin_sparse_matrix(In<int64_t> starts, In<int32_t> columns,
                                                In<float> values, float absent,
                                                std::shared_ptr<const Bins> bins,
                                                std::optional<In<int64_t>> rows, bool dense,
                                                int n_threads) {
  const SparseView view =
      checked_sparse(starts, columns, values, bins->n_features(), absent, n_threads);
  require(view.n_rows < (int64_t{1} << 31), "a binned matrix holds at most 2^31 - 1 rows");
  const int64_t* row_numbers = checked_rows(rows, view.n_rows);
  const int64_t n_rows = rows ? static_cast<int64_t>(rows->shape(0)) : view.n_rows;
  nb::gil_scoped_release unlocked;
  return bin_matrix(view, std::move(bins), row_numbers, n_rows, dense, n_threads);
}

// Bins from the arrays of `arrays`, none of which is trusted.
std::shared_ptr<const Bins> bins_from_arrays(In<int64_t> offsets, In<float> cuts,
                                             In<uint8_t> has_missing, In<uint8_t> has_infinity,
                                             In<float> fill, In<uint8_t> categorical) {
  const size_t n = fill.shape(0);
  require(offsets.shape(0) == n + 1 && has_missing.shape(0) == n && has_infinity.shape(0) == n &&
              (categorical.shape(0) == n || categorical.shape(0) == 0),
          "the arrays of the bins have different lengths");
  require(offsets.data()[0] == 0 && offsets.data()[n] == static_cast<int64_t>(cuts.shape(0)),
          "the offsets of the bins do not go with the cuts");
  for (size_t f = 0; f < n; ++f) {
    const int64_t begin = offsets.data()[f], end = offsets.data()[f + 1];
    require(begin <= end && end <= static_cast<int64_t>(cuts.shape(0)) && end - begin < kMaxBins16,
            "the offsets of the bins do not ascend");
    for (int64_t i = begin; i < end; ++i) {
      require(std::isfinite(cuts.data()[i]) && (i == begin || cuts.data()[i] > cuts.data()[i - 1]),
              "the cuts between bins do not ascend");
    }
    require(categorical.shape(0) == 0 || !categorical.data()[f] || has_missing.data()[f],
            "a categorical feature lacks the bin of missing values");
  }
  const auto copy = [](const auto& array) {
    return std::vector(array.data(), array.data() + array.shape(0));
  };
  return std::make_shared<const Bins>(Bins{copy(offsets), copy(cuts), copy(has_missing),
                                           copy(has_infinity), copy(fill), copy(categorical)});
}

nb::tuple arrays_of_bins(const Bins& bins) {
  const auto array = [](const auto& values) { return to_numpy(std::vector(values)); };
  return nb::make_tuple(array(bins.offsets), array(bins.cuts), array(bins.has_missing),
                        array(bins.has_infinity), array(bins.fill), array(bins.categorical));
}

template <typename Code>
nb::object codes_view(nb::handle self) {
  const auto& binned = nb::cast<const BinnedMatrix&>(self);
  require(!binned.has_sparse(), "the matrix has sparse columns");
  return nb::cast(nb::ndarray<nb::numpy, const Code, nb::ndim<2>>(
      binned.codes.get(),
      {static_cast<size_t>(binned.n_features()), static_cast<size_t>(binned.n_rows)}, self));
}

// A matrix whose codes somebody else keeps, such as a mapped file; without a folder, as in memory.
std::shared_ptr<BinnedMatrix> mapped_matrix(std::shared_ptr<const Bins> bins, In<uint8_t> codes,
                                            int64_t n_rows, const std::string& folder) {
  auto result = std::make_shared<BinnedMatrix>();
  require(n_rows >= 0 && n_rows < (int64_t{1} << 31),
          "a binned matrix holds at most 2^31 - 1 rows");
  result->wide = needs_wide_codes(*bins);
  result->bins = std::move(bins);
  result->n_rows = n_rows;
  result->folder = folder;
  require(static_cast<int64_t>(codes.shape(0)) == result->n_bytes(),
          "the codes take " + std::to_string(codes.shape(0)) + " bytes instead of " +
              std::to_string(result->n_bytes()));
  const void* data = codes.data();
  result->codes = std::shared_ptr<const void>(shared_object(nb::cast(codes)), data);
  return result;
}

auto ordered_sums_checked(In<int32_t> codes, In<int64_t> values, In<int64_t> offsets,
                          In<int64_t> order, int32_t n_codes, int64_t first, int64_t last) {
  const auto n = static_cast<int64_t>(codes.shape(0));
  const auto n_queries = static_cast<int64_t>(offsets.shape(0)) - 1;
  require(n_queries >= 0 && offsets.data()[0] == 0 && offsets.data()[n_queries] == n &&
              static_cast<int64_t>(values.shape(0)) == n && n_codes >= 0,
          "codes, values and offsets do not belong together");
  for (int64_t q = 0; q < n_queries; ++q) {
    require(offsets.data()[q] <= offsets.data()[q + 1], "offsets must not fall");
  }
  for (int64_t i = 0; i < n; ++i) {
    require(codes.data()[i] < n_codes, "code " + std::to_string(codes.data()[i]) + " of row " +
                                           std::to_string(i) + " is out of range");
  }
  for (size_t i = 0; i < order.shape(0); ++i) {
    require(order.data()[i] >= 0 && order.data()[i] < n_queries, "order names no such query");
  }
  require(0 <= first && first <= last && last <= n_queries, "queries are out of range");
  std::vector<int64_t> found;
  {
    nb::gil_scoped_release unlocked;
    found = ordered_sums({{codes.data(), codes.shape(0)},
                          {values.data(), values.shape(0)},
                          {offsets.data(), offsets.shape(0)},
                          n_codes},
                         {order.data(), order.shape(0)}, first, last);
  }
  return to_numpy(std::move(found));
}

}  // namespace

void bind_binning(nb::module_& m) {
  nb::class_<Bins>(m, "Bins", "Where each feature's bins begin and end.")
      .def_prop_ro("n_features", &Bins::n_features)
      .def(
          "n_bins",
          [](const Bins& bins) {
            std::vector<int32_t> result;
            for (int32_t f = 0; f < bins.n_features(); ++f) result.push_back(bins.n_bins(f));
            return to_numpy(std::move(result));
          },
          "Number of value bins of each feature, without the one for missing values.")
      .def(
          "cuts",
          [](const Bins& bins, int32_t feature) {
            require(feature >= 0 && feature < bins.n_features(), "no such feature");
            return to_numpy(std::vector<float>(bins.cuts.begin() + bins.offsets[feature],
                                               bins.cuts.begin() + bins.offsets[feature + 1]));
          },
          nb::arg("feature"), "Thresholds between the bins of one feature.")
      .def(
          "has_missing",
          [](const Bins& bins) { return to_numpy(std::vector<uint8_t>(bins.has_missing)); },
          "1 for each feature that had a NaN in training, else 0.")
      .def(
          "categorical",
          [](const Bins& bins) { return to_numpy(std::vector<uint8_t>(bins.categorical)); },
          "1 for each categorical feature, else 0; empty if there are none.")
      .def("arrays", &arrays_of_bins, "All there is to know, for a file; see bins_from_arrays.");
  m.def("bins_from_arrays", &bins_from_arrays, nb::arg("offsets"), nb::arg("cuts"),
        nb::arg("has_missing"), nb::arg("has_infinity"), nb::arg("fill"), nb::arg("categorical"));
  nb::class_<BinnedMatrix>(m, "BinnedMatrix", "A feature matrix as bin codes.")
      .def_ro("n_rows", &BinnedMatrix::n_rows)
      .def_prop_ro("n_features", &BinnedMatrix::n_features)
      .def_prop_ro("bins", [](const BinnedMatrix& binned) { return binned.bins; })
      .def_ro("wide", &BinnedMatrix::wide, "Whether codes take 16 bits instead of 8.")
      .def_prop_ro("nbytes",
                   [](const BinnedMatrix& binned) {
                     return static_cast<size_t>(binned.n_bytes()) + binned.sparse.n_bytes();
                   })
      .def(
          "codes",
          [](const BinnedMatrix& binned, int32_t feature) {
            require(feature >= 0 && feature < binned.n_features(), "no such feature");
            std::vector<uint8_t> room8;
            std::vector<uint16_t> result(binned.n_rows), room16;
            if (binned.wide) {
              std::copy_n(binned.column(feature, room16), binned.n_rows, result.begin());
            } else {
              std::copy_n(binned.column(feature, room8), binned.n_rows, result.begin());
            }
            return to_numpy(std::move(result));
          },
          nb::arg("feature"), "Codes of one feature, as a copy.")
      .def_prop_ro(
          "all_codes",
          [](nb::handle self) {
            return nb::cast<const BinnedMatrix&>(self).wide ? codes_view<uint16_t>(self)
                                                            : codes_view<uint8_t>(self);
          },
          "View of the codes, feature by feature; none if there are sparse columns.")
      .def(
          "is_sparse",
          [](const BinnedMatrix& binned, int32_t feature) {
            require(feature >= 0 && feature < binned.n_features(), "no such feature");
            return binned.is_sparse(feature);
          },
          nb::arg("feature"), "Whether a feature is kept as the rows that have an unusual code.");
  m.def("value_runs", &value_runs_checked, nb::arg("block"), nb::arg("n_rows"), nb::arg("fill"),
        nb::arg("n_threads"),
        "Sorted keys of the values of each column of a block, their numbers of rows, and the "
        "number of missing values; see trees/value_runs.hpp.");
  nb::class_<RunBins>(m, "RunBins", "Bins of a column from its runs, range by range.")
      .def(nb::new_(&make_run_bins), nb::arg("max_bins"), nb::arg("binning"),
           nb::arg("frequent_keys"), nb::arg("frequent_counts"), nb::arg("n_rows"))
      .def(
          "add",
          [](RunBins& bins, In<uint32_t> keys, In<int64_t> counts) {
            require(keys.shape(0) == counts.shape(0), "runs need a count for each key");
            nb::gil_scoped_release unlocked;
            bins.add({keys.data(), keys.shape(0)}, {counts.data(), counts.shape(0)});
          },
          nb::arg("keys"), nb::arg("counts"))
      .def("cuts", [](const RunBins& bins) { return to_numpy(bins.cuts()); })
      .def_prop_ro("has_infinity", &RunBins::has_infinity);
  m.def("mapped_matrix", &mapped_matrix, nb::arg("bins"), nb::arg("codes"), nb::arg("n_rows"),
        nb::arg("folder"), "A matrix on the bytes of codes that were written before.");
  m.def("find_bins", &find_bins_checked, nb::arg("blocks"), nb::arg("n_rows"),
        nb::arg("rows").none(), nb::arg("max_bins"), nb::arg("binning"), nb::arg("fill"),
        nb::arg("n_threads"),
        "Bins of columns that come in blocks, each a list of matrices of any numbers.");
  m.def("bin_matrix", &bin_matrix_checked, nb::arg("blocks"), nb::arg("n_rows"), nb::arg("bins"),
        nb::arg("rows").none(), nb::arg("n_threads"), "Codes of such columns.");
  m.def("find_sparse_bins", &find_sparse_bins, nb::arg("starts"), nb::arg("columns"),
        nb::arg("values"), nb::arg("n_features"), nb::arg("absent"), nb::arg("max_bins"),
        nb::arg("binning"), nb::arg("fill"), nb::arg("n_threads"), "find_bins of a sparse matrix.");
  m.def("bin_sparse_matrix", &bin_sparse_matrix, nb::arg("starts"), nb::arg("columns"),
        nb::arg("values"), nb::arg("absent"), nb::arg("bins"), nb::arg("rows").none(),
        nb::arg("dense"), nb::arg("n_threads"),
        "bin_matrix of a sparse matrix; `dense`: all its columns are to be dense.");
  m.def("ordered_sums", &ordered_sums_checked, nb::arg("codes"), nb::arg("values"),
        nb::arg("offsets"), nb::arg("order"), nb::arg("n_codes"), nb::arg("first"), nb::arg("last"),
        "Sums, and after them counts, over the queries before each document's own.");
}

}  // namespace rankgrove
