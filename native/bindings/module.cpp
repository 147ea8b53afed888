#include <omp.h>

#include "bindings/bindings.hpp"

NB_MODULE(_native, m) {
  m.doc() = "The native core of rankgrove. Private: use the Python packages above it.";
  m.def(
      "max_threads", [] { return omp_get_max_threads(); },
      "Threads OpenMP would use now (obeys OMP_NUM_THREADS and threadpoolctl).");
  rankgrove::bind_reading(m);
  rankgrove::bind_metrics(m);
  rankgrove::bind_binning(m);
  rankgrove::bind_growing(m);
  rankgrove::bind_objectives(m);
  rankgrove::bind_forests(m);
  rankgrove::bind_scoring(m);
}
