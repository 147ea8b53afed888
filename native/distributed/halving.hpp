// The schedule of collective operations by recursive halving, for any number of workers.
//
// The group of workers is halved until each group has one worker. On the way down, every worker
// sends its values for the other half to a partner there (reduce-scatter); on the way up, it sends
// the values of its own half (all-gather). So an operation takes about log2(size) steps, and a
// worker sends each value once.
//
// If the first half has one worker more, its last two workers have the same partner:
//
//   5 workers   0 1 2 | 3 4      down: 0 <-> 3, 1 <-> 4, 2 -> 4      up: 0 <-> 3, 1 <-> 4, 4 -> 2
//   then        0 1 | 2, 3 | 4   and so on within each half
#pragma once

#include <vector>

namespace rankgrove {

// A range of ranks.
struct Ranks {
  int begin, end;
};

// One step of one worker.
struct HalvingStep {
  Ranks own, other;       // the halves
  int down;               // whom it sends to on the way down; upwards it receives from this one
  std::vector<int> from;  // whom it receives from on the way down; upwards it sends to these
};

// The steps of a worker on the way down; on the way up they are taken in reverse.
inline std::vector<HalvingStep> halving_steps(int rank, int size) {
  std::vector<HalvingStep> steps;
  for (Ranks all{0, size}; all.end - all.begin > 1;) {
    const int middle = all.begin + (all.end - all.begin + 1) / 2;
    const int n_first = middle - all.begin, n_second = all.end - middle;
    const Ranks first{all.begin, middle}, second{middle, all.end};
    HalvingStep step{};
    if (rank < middle) {
      const int place = rank - first.begin;
      step = {first, second, second.begin + (place < n_second ? place : n_second - 1), {}};
      if (place < n_second) step.from.push_back(second.begin + place);
    } else {
      const int place = rank - second.begin;
      step = {second, first, first.begin + place, {first.begin + place}};
      if (place == n_second - 1 && n_first > n_second) step.from.push_back(first.end - 1);
    }
    all = step.own;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace rankgrove
