"""One meaning of ``n_jobs`` for every native call."""

from __future__ import annotations

from rankgrove import _native

_MOST_THREADS = 4096  # beyond any machine, within any integer type


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into a number of threads.

    ``None`` and ``-1`` mean all that OpenMP would use now (so ``OMP_NUM_THREADS`` and threadpoolctl
    are obeyed), ``-2`` one fewer, and so on.
    """
    if n_jobs is None:
        return _native.max_threads()
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: use 1 for one thread or -1 for all cores")
    if n_jobs < 0:
        return max(1, _native.max_threads() + 1 + n_jobs)
    return min(int(n_jobs), _MOST_THREADS)
