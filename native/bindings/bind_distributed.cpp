#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bindings/bindings.hpp"
#include "bindings/communicators.hpp"
#include "distributed/star.hpp"

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

std::shared_ptr<Star> make_star(int rank, int size, const nb::list& peers, double patience) {
  require(size >= 1 && rank >= 0 && rank < size,
          "there is no worker " + std::to_string(rank) + " of " + std::to_string(size));
  require(peers.size() == static_cast<size_t>(rank == 0 ? size - 1 : 1),
          "a hub has one connection to every other worker, the others have one to the hub");
  require(patience > 0.0, "the patience must be a positive number of seconds");
  std::vector<Peer> links;
  for (const nb::handle peer : peers) {
    const auto fields = nb::cast<nb::tuple>(peer);
    links.push_back(
        {nb::cast<int>(fields[0]), nb::cast<int>(fields[1]), nb::cast<std::string>(fields[2])});
  }
  return std::make_shared<Star>(rank, size, std::move(links), patience);
}

void bind_star(nb::module_& m) {
  nb::class_<Star>(m, "Star", "Workers around a hub; see distributed/star.hpp.")
      .def(nb::new_(&make_star), nb::arg("rank"), nb::arg("size"), nb::arg("peers"),
           nb::arg("patience"))
      .def_prop_ro("rank", &Star::rank)
      .def_prop_ro("size", &Star::size)
      .def_prop_ro("traffic",
                   [](const Star& star) {
                     const Traffic& t = star.traffic();
                     return nb::make_tuple(t.messages, t.bytes_sent, t.bytes_received,
                                           t.seconds_waiting);
                   })
      .def(
          "sum",
          [](Star& star, Out<int64_t> values) {
            nb::gil_scoped_release unlocked;
            star.sum(values.data(), values.shape(0));
          },
          nb::arg("values").noconvert())
      .def(
          "maximum",
          [](Star& star, Out<int64_t> values) {
            nb::gil_scoped_release unlocked;
            star.maximum(values.data(), values.shape(0));
          },
          nb::arg("values").noconvert())
      .def(
          "gather",
          [](Star& star, const nb::bytes& data) {
            std::vector<std::string> parts;
            {
              const std::string_view own = view(data);
              nb::gil_scoped_release unlocked;
              parts = star.gather(own);
            }
            return to_list(parts);
          },
          nb::arg("data"))
      .def(
          "broadcast",
          [](Star& star, const nb::bytes& data) {
            std::string result;
            {
              const std::string_view own = view(data);
              nb::gil_scoped_release unlocked;
              result = star.broadcast(own);
            }
            return to_bytes(result);
          },
          nb::arg("data"))
      .def(
          "exchange",
          [](Star& star, const nb::list& parts) {
            require(parts.size() == static_cast<size_t>(star.size()),
                    "exchange needs one part for each worker");
            std::vector<std::string_view> views;
            for (const nb::handle part : parts) views.push_back(view(nb::cast<nb::bytes>(part)));
            std::vector<std::string> received;
            {
              nb::gil_scoped_release unlocked;
              received = star.exchange(views);
            }
            return to_list(received);
          },
          nb::arg("parts"))
      .def("abort", &Star::abort, nb::arg("reason"), nb::call_guard<nb::gil_scoped_release>())
      .def("close", &Star::close);
}

// A communicator that is a Python object with `sum` and `maximum` of numpy arrays, in place.
class PythonCommunicator final : public Communicator {
 public:
  explicit PythonCommunicator(nb::object object) : object_(shared_object(std::move(object))) {}
  void sum(int64_t* values, size_t n) override { call("sum", values, n); }
  void maximum(int64_t* values, size_t n) override { call("maximum", values, n); }

 private:
  void call(const char* method, int64_t* values, size_t n) {
    nb::gil_scoped_acquire locked;
    const nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> array(values, {n}, nb::none());
    object_->attr(method)(array);
  }

  std::shared_ptr<const nb::object> object_;
};

}  // namespace

std::shared_ptr<Communicator> as_communicator(const nb::object& object) {
  if (object.is_none()) return nullptr;
  if (nb::isinstance<Star>(object)) return nb::cast<std::shared_ptr<Star>>(object);
  return std::make_shared<PythonCommunicator>(object);
}

void bind_distributed(nb::module_& m) {
  nb::register_exception_translator(&raise_worker_error);
  bind_star(m);
}

}  // namespace rankgrove
