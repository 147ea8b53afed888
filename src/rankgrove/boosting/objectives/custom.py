"""Objectives that a user writes in Python: over all documents at once, or query by query."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData

VectorisedFunction = Callable[[Floats, Floats, npt.NDArray[np.int64]], tuple[Any, Any]]
QueryFunction = Callable[[Floats, Floats], tuple[Any, Any]]


class PythonObjective(Objective):
    """An objective ``function(scores, y, qid) -> gradients, hessians`` over all documents.

    The documents of a query stand together, in the order of the training data; ``qid`` numbers the
    queries from 0 in order of their first document. Gradients are dLoss/dscore, Hessians must not
    be negative. Document weights multiply both.
    """

    def __init__(self, data: TrainingData, function: VectorisedFunction) -> None:
        self.data = data
        self.function = function
        self.query = data.query_of_document()

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Call the function and check what it returns."""
        assert hessians is not None
        result = self.function(scores[0].copy(), self.data.y, self.query)
        _fill(self.data, self.function, result, gradients[0], hessians[0])


class PerQueryObjective(Objective):
    """An objective ``function(scores, y) -> gradients, hessians`` over the documents of one query.

    The function is compiled with numba if that is installed, and then runs over queries in
    parallel; otherwise Python calls it for each query, which is slow. ``compile=False`` never
    compiles, for functions that numba cannot.
    """

    def __init__(self, data: TrainingData, function: QueryFunction, compile: bool = True) -> None:
        self.data = data
        self.function = function
        self.over_queries = _over_queries
        if compile and importlib.util.find_spec("numba") is not None:
            self.over_queries = _compiled(function)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Call the function for every query and check what it returns."""
        assert hessians is not None
        scores = scores[0]
        result = np.zeros(len(scores)), np.zeros(len(scores))
        offsets, n_queries = self.data.offsets, self.data.n_queries
        # Bounds at equal numbers of documents: queries differ in length.
        parts = 4 * self.data.n_threads if self.over_queries is not _over_queries else 1
        shares = np.linspace(0, offsets[-1], parts + 1)[1:-1]
        bounds = np.r_[0, np.searchsorted(offsets[:-1], shares), n_queries]

        def run(part: int) -> None:
            self.over_queries(
                self.function,
                scores,
                self.data.y,
                offsets[bounds[part] : bounds[part + 1] + 1],
                *result,
            )

        if parts == 1:
            run(0)
        else:
            with ThreadPoolExecutor(self.data.n_threads) as pool:
                list(pool.map(run, range(parts)))
        _fill(self.data, self.function, result, gradients[0], hessians[0])


def _over_queries(
    function: QueryFunction,
    scores: Floats,
    y: Floats,
    offsets: npt.NDArray[np.int64],
    gradients: Floats,
    hessians: Floats,
) -> None:
    for q in range(len(offsets) - 1):
        begin, end = offsets[q], offsets[q + 1]
        if end > begin:
            gradient, hessian = function(scores[begin:end].copy(), y[begin:end])
            gradients[begin:end] = gradient
            hessians[begin:end] = hessian


@lru_cache(maxsize=16)  # compiling takes seconds, and cross-validation fits the same function often
def _compiled(function: QueryFunction) -> Callable[..., None]:
    import numba

    one_query = function
    if not hasattr(function, "py_func"):  # not yet a numba function
        one_query = numba.njit(nogil=True)(function)
    over_queries = numba.njit(nogil=True)(_over_queries)

    def run(_: QueryFunction, *arrays: Any) -> None:
        try:
            over_queries(one_query, *arrays)
        except numba.core.errors.NumbaError as error:
            raise ValueError(
                f"numba cannot compile the objective {_name(function)}; pass compile=False to run "
                f"it in Python, or change it: {error}"
            ) from error

    return run


def _fill(
    data: TrainingData,
    function: Callable[..., Any],
    result: Any,
    gradients: Floats32,
    hessians: Floats32,
) -> None:
    """Copy what a user's function returned, or say what is wrong with it."""
    try:
        pair = tuple(result)
    except TypeError:
        pair = ()
    if len(pair) != 2:
        raise ValueError(
            f"the objective {_name(function)} must return gradients and hessians, "
            f"not {type(result).__name__}"
        )
    for name, values, target in zip(
        ("gradients", "hessians"), pair, (gradients, hessians), strict=True
    ):
        array = np.asarray(values, np.float64)
        if array.shape != target.shape:
            raise ValueError(
                f"the objective {_name(function)} returned {name} of shape {array.shape} for "
                f"{len(target)} documents"
            )
        wrong = ~np.isfinite(array) if name == "gradients" else ~(np.isfinite(array) & (array >= 0))
        if wrong.any():
            document = int(np.flatnonzero(wrong)[0])
            query = int(np.searchsorted(data.offsets, document, "right")) - 1
            raise ValueError(
                f"the objective {_name(function)} returned {name} with the value "
                f"{array[document]} for document {document - data.offsets[query]} of query {query}"
            )
        target[:] = array if data.weight is None else array * data.weight


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
