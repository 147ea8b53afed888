"""Resolution of ``n_jobs`` to a number of threads."""

from __future__ import annotations

import os
from numbers import Integral

from rankgrove import _native


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into a number of threads.

    ``None`` and ``-1`` mean all cores that this process may use, or as many as the environment
    variable ``OMP_NUM_THREADS`` says if that is fewer (joblib and many batch systems set it);
    ``-2`` means one fewer, and so on. More threads than cores are started only up to 8.
    """
    if n_jobs is None:
        return _available_threads()
    if not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be a whole number or None, not {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: use 1 for one thread or -1 for all cores")
    if n_jobs < 0:
        return max(1, _available_threads() + 1 + n_jobs)
    return 1 if n_jobs == 1 else min(int(n_jobs), _native.most_threads())  # the call is slow


def _available_threads() -> int:
    cores = _native.usable_cores()
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(cores, int(limit)) if limit.isdecimal() and int(limit) > 0 else cores
