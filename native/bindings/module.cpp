#include "bindings/bindings.hpp"
#include "common/interrupt.hpp"
#include "common/table_memory.hpp"
#include "common/thread_pool.hpp"

namespace {

void stop_on_signal() {
  nanobind::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The native core of rankgrove. Private: use the Python packages above it.";
  nanobind::set_leak_warnings(false);  // a model may live as long as its process
  rankgrove::set_interrupt_check(stop_on_signal);
  m.def("usable_cores", &rankgrove::ThreadPool::usable_cores, "Cores that this process may use.");
  m.def("release_freed_memory", &rankgrove::release_freed_memory,
        nanobind::call_guard<nanobind::gil_scoped_release>(),
        "Give freed memory, which the allocator may keep for later, back to the system.");
  m.def("most_threads", &rankgrove::ThreadPool::most_threads,
        "Threads that can be asked for, whatever the number of cores.");
  rankgrove::bind_reading(m);
  rankgrove::bind_sparse(m);
  rankgrove::bind_metrics(m);
  rankgrove::bind_binning(m);
  rankgrove::bind_growing(m);
  rankgrove::bind_objectives(m);
  rankgrove::bind_linear(m);
  rankgrove::bind_forests(m);
  rankgrove::bind_grown_forests(m);
  rankgrove::bind_sharded_forests(m);
  rankgrove::bind_scoring(m);
  rankgrove::bind_explain(m);
  rankgrove::bind_distributed(m);
}
