// A metric along a line: its values for the scores s + step * d, for many steps at once.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/query_metric.hpp"

namespace rankgrove {

// result[step * n_queries + query]. From one step to the next few documents change places: the
// ranking of the last step is put in order again, not sorted anew. Steps are best given in
// ascending order. Scores and direction are in the caller's order and finite.
std::vector<double> line_values(const QueryMetric& metric, const double* scores,
                                const double* direction, const double* steps, int64_t n_steps,
                                int n_threads);

}  // namespace rankgrove
