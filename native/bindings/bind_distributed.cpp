#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bindings/bindings.hpp"
#include "bindings/communicators.hpp"
#include "distributed/mesh.hpp"

namespace rankgrove {
namespace {

// A worker that is gone becomes an exception of rankgrove.errors.
void raise_worker_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const WorkerGone& gone) {
    const nb::object errors = nb::module_::import_("rankgrove.errors");
    const nb::object type = errors.attr(gone.failed ? "WorkerFailed" : "WorkerLost");
    const nb::object value = type(gone.what(), gone.rank, gone.address);
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::list to_list(const std::vector<std::string>& parts) {
  nb::list result;
  for (const std::string& part : parts) result.append(to_bytes(part));
  return result;
}

std::shared_ptr<Mesh> make_mesh(int rank, int size, const nb::list& peers, double patience) {
  require(size >= 1 && rank >= 0 && rank < size,
          "there is no worker " + std::to_string(rank) + " of " + std::to_string(size));
  require(peers.size() == static_cast<size_t>(size - 1),
          "a worker has one connection to every other worker");
  require(patience > 0.0, "the patience must be a positive number of seconds");
  std::vector<Peer> links;
  for (const nb::handle peer : peers) {
    const auto fields = nb::cast<nb::tuple>(peer);
    links.push_back(
        {nb::cast<int>(fields[0]), nb::cast<int>(fields[1]), nb::cast<std::string>(fields[2])});
    const auto place = static_cast<int>(links.size()) - 1;
    require(links.back().rank == place + (place >= rank ? 1 : 0),
            "the connections must be in order of rank");
  }
  return std::make_shared<Mesh>(rank, size, std::move(links), patience);
}

// The parts of values that belong to each worker.
std::vector<size_t> checked_bounds(const In<int64_t>& bounds, int size, size_t n_values) {
  const int64_t* ends = bounds.data();
  const size_t n = bounds.shape(0);
  require(n == static_cast<size_t>(size) + 1 && ends[0] == 0 &&
              ends[n - 1] == static_cast<int64_t>(n_values) && std::is_sorted(ends, ends + n),
          "bounds must cut the values into one part for each worker");
  return {ends, ends + n};
}

void bind_mesh(nb::module_& m) {
  nb::class_<Mesh>(m, "Mesh", "Workers that are all connected; see distributed/mesh.hpp.")
      .def(nb::new_(&make_mesh), nb::arg("rank"), nb::arg("size"), nb::arg("peers"),
           nb::arg("patience"))
      .def_prop_ro("rank", &Mesh::rank)
      .def_prop_ro("size", &Mesh::size)
      .def_prop_ro("traffic",
                   [](const Mesh& mesh) {
                     const Traffic& t = mesh.traffic();
                     return nb::make_tuple(t.messages, t.frames_sent, t.bytes_sent,
                                           t.bytes_received, t.seconds_waiting);
                   })
      .def(
          "sum",
          [](Mesh& mesh, Out<int64_t> values) {
            nb::gil_scoped_release unlocked;
            mesh.sum(values.data(), values.shape(0));
          },
          nb::arg("values").noconvert())
      .def(
          "maximum",
          [](Mesh& mesh, Out<int64_t> values) {
            nb::gil_scoped_release unlocked;
            mesh.maximum(values.data(), values.shape(0));
          },
          nb::arg("values").noconvert())
      .def(
          "sum_scatter",
          [](Mesh& mesh, Out<int64_t> values, In<int64_t> bounds, Out<int64_t> extra) {
            const std::vector<size_t> ends = checked_bounds(bounds, mesh.size(), values.shape(0));
            nb::gil_scoped_release unlocked;
            mesh.sum_scatter(values.data(), ends, extra.data(), extra.shape(0));
          },
          nb::arg("values").noconvert(), nb::arg("bounds"), nb::arg("extra").noconvert())
      .def(
          "gather",
          [](Mesh& mesh, const nb::bytes& data) {
            std::vector<std::string> parts;
            {
              const std::string_view own = view(data);
              nb::gil_scoped_release unlocked;
              parts = mesh.gather(own);
            }
            return to_list(parts);
          },
          nb::arg("data"))
      .def(
          "broadcast",
          [](Mesh& mesh, const nb::bytes& data) {
            std::string result;
            {
              const std::string_view own = view(data);
              nb::gil_scoped_release unlocked;
              result = mesh.broadcast(own);
            }
            return to_bytes(result);
          },
          nb::arg("data"))
      .def(
          "exchange",
          [](Mesh& mesh, const nb::list& parts) {
            require(parts.size() == static_cast<size_t>(mesh.size()),
                    "exchange needs one part for each worker");
            std::vector<std::string_view> views;
            for (const nb::handle part : parts) views.push_back(view(nb::cast<nb::bytes>(part)));
            std::vector<std::string> received;
            {
              nb::gil_scoped_release unlocked;
              received = mesh.exchange(views);
            }
            return to_list(received);
          },
          nb::arg("parts"))
      .def("abort", &Mesh::abort, nb::arg("reason"), nb::call_guard<nb::gil_scoped_release>())
      .def("close", &Mesh::close);
}

// A communicator that is a Python object (rankgrove.workers.communicator).
class PythonCommunicator final : public Communicator {
 public:
  explicit PythonCommunicator(nb::object object)
      : rank_(nb::cast<int>(object.attr("rank"))),
        size_(nb::cast<int>(object.attr("size"))),
        object_(shared_object(std::move(object))) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(int64_t* values, size_t n) override {
    nb::gil_scoped_acquire locked;
    object_->attr("sum")(array(values, n));
  }
  void maximum(int64_t* values, size_t n) override {
    nb::gil_scoped_acquire locked;
    object_->attr("maximum")(array(values, n));
  }
  void sum_scatter(int64_t* values, std::span<const size_t> bounds, int64_t* extra,
                   size_t n_extra) override {
    nb::gil_scoped_acquire locked;
    std::vector<int64_t> ends(bounds.begin(), bounds.end());
    object_->attr("sum_scatter")(array(values, bounds.back()), array(ends.data(), ends.size()),
                                 array(extra, n_extra));
  }
  std::vector<std::string> gather(std::string_view own) override {
    nb::gil_scoped_acquire locked;
    std::vector<std::string> parts;
    for (const nb::handle part : object_->attr("gather")(nb::bytes(own.data(), own.size()))) {
      parts.emplace_back(view(nb::cast<nb::bytes>(part)));
    }
    require(parts.size() == static_cast<size_t>(size_), "gather must give one part per worker");
    return parts;
  }

 private:
  using Array = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;
  static Array array(int64_t* values, size_t n) { return Array(values, {n}, nb::none()); }

  int rank_, size_;
  std::shared_ptr<const nb::object> object_;
};

}  // namespace

std::shared_ptr<Communicator> as_communicator(const nb::object& object) {
  if (object.is_none()) return nullptr;
  if (nb::isinstance<Mesh>(object)) return nb::cast<std::shared_ptr<Mesh>>(object);
  return std::make_shared<PythonCommunicator>(object);
}

void bind_distributed(nb::module_& m) {
  nb::register_exception_translator(&raise_worker_error);
  bind_mesh(m);
}

}  // namespace rankgrove
