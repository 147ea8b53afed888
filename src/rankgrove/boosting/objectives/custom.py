"""Objectives defined by a Python function over all documents, or over one query.

Either way the function is ``objective(scores, y, qid, weight) -> gradients, hessians``. Gradients
are dLoss/dscore, one per document, and Hessians must not be negative. What it returns is used as it
is: a function that is to honour weights multiplies by them.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arrays import read_only
from rankgrove._signatures import has_other_order
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.errors import ModelError

Function = Callable[[Floats, Floats, Any, Floats], tuple[Any, Any]]


class PythonObjective(Objective):
    """A function over all documents.

    The documents of a query stand together, in the order of the training data. ``qid`` holds the
    number of each document's query, from 0 in order of their first documents; ``weight`` the
    weights of the documents, 1 where none were given.
    """

    def __init__(self, data: TrainingData, function: Function) -> None:
        _require_signature(function)
        if not data.shard.single_worker:
            raise ModelError(
                f"the objective {_name(function)} sees all documents at once, and no worker has "
                "them: fit in shards with per_query=True"
            )
        self.data = data
        self.function = function
        self.query = read_only(data.query_of_document())
        self.y, self.weight = read_only(data.y), read_only(_weights(data))

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Call the function and check what it returns."""
        assert hessians is not None
        result = self.function(scores[0].copy(), self.y, self.query, self.weight)
        pair = _as_pair(self.function, result, self.data.n_documents, "")
        _fill(self.data, self.function, pair, gradients[0], hessians[0])


class PerQueryObjective(Objective):
    """A function over the documents of one query; ``qid`` is the number of that query.

    The function is compiled with numba if that is installed, and then runs over queries in
    parallel; otherwise Python calls it for each query, which is slow. ``compiled=False`` never
    compiles, for functions that numba cannot.
    """

    def __init__(self, data: TrainingData, function: Function, compiled: bool = True) -> None:
        _require_signature(function)
        self.data = data
        self.function = function
        self.weight = _weights(data)
        self.compiled = compiled and importlib.util.find_spec("numba") is not None
        self.returned_arrays = False  # one query has been evaluated in plain Python and checked

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Call the function for every query and check what it returns."""
        assert hessians is not None
        result = np.zeros(self.data.n_documents), np.zeros(self.data.n_documents)
        if not self.compiled:
            for query in range(self.data.n_queries):
                self._call(query, scores[0], result)
        else:
            self._call_compiled(scores[0], result)
        _fill(self.data, self.function, result, gradients[0], hessians[0])

    def _call(self, query: int, scores: Floats, result: tuple[Floats, Floats]) -> None:
        rows = slice(self.data.offsets[query], self.data.offsets[query + 1])
        n = rows.stop - rows.start
        if n == 0:
            return
        y, weight = read_only(self.data.y[rows]), read_only(self.weight[rows])
        number = self.data.shard.first_query + query
        returned = self.function(scores[rows].copy(), y, number, weight)
        where = f" for query {self.data.query_name(query)}"
        for target, values in zip(result, _as_pair(self.function, returned, n, where), strict=True):
            target[rows] = values

    def _call_compiled(self, scores: Floats, result: tuple[Floats, Floats]) -> None:
        if not self.returned_arrays and len(scores):
            # numba's error for a function that returns no arrays is hard to read.
            self._call(int(np.flatnonzero(np.diff(self.data.offsets))[0]), scores, result)
            self.returned_arrays = True
        over_queries = _compiled(self.function)
        offsets, y, weight = self.data.offsets, self.data.y, self.weight
        # Split by documents, not by queries, which differ in length.
        parts = 4 * self.data.n_threads
        shares = np.linspace(0, offsets[-1], parts + 1)[1:-1]
        bounds = np.r_[0, np.searchsorted(offsets[:-1], shares), self.data.n_queries]

        def run(part: int) -> int:
            queries = bounds[part], bounds[part + 1], self.data.shard.first_query
            return over_queries(scores, y, weight, offsets, *queries, *result)

        with ThreadPoolExecutor(self.data.n_threads) as pool:
            wrong = [query for query in pool.map(run, range(parts)) if query >= 0]
        if wrong:
            self._call(wrong[0], scores, result)  # raises if the plain call is wrong too
            raise ValueError(
                f"the objective {_name(self.function)} returned arrays of a wrong length for query "
                f"{self.data.query_name(wrong[0])}"
            )


def _over_queries(
    function: Function,
    scores: Floats,
    y: Floats,
    weight: Floats,
    offsets: npt.NDArray[np.int64],
    first: int,
    last: int,
    first_number: int,
    gradients: Floats,
    hessians: Floats,
) -> int:
    """Call the function for some queries; return the first whose result has a wrong length, or -1.

    This is compiled by numba.
    """
    for query in range(first, last):
        begin, end = offsets[query], offsets[query + 1]
        if end > begin:
            gradient, hessian = function(
                scores[begin:end].copy(), y[begin:end], first_number + query, weight[begin:end]
            )
            if len(gradient) != end - begin or len(hessian) != end - begin:
                return query
            gradients[begin:end] = gradient
            hessians[begin:end] = hessian
    return -1


@lru_cache(maxsize=16)  # memoised: compiling takes seconds, and many fits use the same function
def _compiled(function: Function) -> Callable[..., int]:
    import numba

    one_query = function
    if not hasattr(function, "py_func"):  # not yet a numba function
        one_query = numba.njit(nogil=True)(function)
    over_queries = numba.njit(nogil=True)(_over_queries)

    def run(*arrays: Any) -> int:
        try:
            return int(over_queries(one_query, *arrays))
        except numba.core.errors.NumbaError as error:
            raise ValueError(
                f"numba cannot compile the objective {_name(function)}; pass compiled=False to run "
                f"it in Python, or change it: {error}"
            ) from error

    return run


def _require_signature(function: Function) -> None:
    function = getattr(function, "py_func", function)  # what numba compiled
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some built-in functions have none
    try:
        signature.bind("scores", "y", "qid", "weight")
        right = not has_other_order(function, ("scores", "labels", "queries", "weights"))
    except TypeError:
        right = False
    if not right:
        raise ValueError(
            f"the objective {_name(function)} must take (scores, y, qid, weight), in this order, "
            f"not {signature}"
        )


def _weights(data: TrainingData) -> Floats:
    return np.ones(data.n_documents) if data.weight is None else data.weight


def _as_pair(function: Function, returned: Any, n: int, where: str) -> tuple[Floats, Floats]:
    """Convert the result of a function to two arrays of n numbers, or raise an error."""
    what = f"the objective {_name(function)} returned"
    is_pair = isinstance(returned, tuple | list) or np.ndim(returned) == 2
    if not is_pair or len(returned) != 2:
        raise ValueError(
            f"{what} {type(returned).__name__}{where}: it must return gradients and hessians"
        )
    arrays = []
    for name, values in zip(("gradients", "hessians"), returned, strict=True):
        array = np.asarray(values)
        if array.shape != (n,):
            raise ValueError(f"{what} {name} of shape {array.shape} for {n} documents{where}")
        if array.dtype.kind not in "iuf":
            raise ValueError(f"{what} {name} of type {array.dtype}{where}: they must be numbers")
        arrays.append(array.astype(np.float64, copy=False))
    return arrays[0], arrays[1]


def _fill(
    data: TrainingData,
    function: Function,
    pair: tuple[Floats, Floats],
    gradients: Floats32,
    hessians: Floats32,
) -> None:
    """Copy gradients and Hessians, or raise an error that names the one out of range."""
    for name, array, target in zip(
        ("gradients", "hessians"), pair, (gradients, hessians), strict=True
    ):
        with np.errstate(over="ignore"):
            target[:] = array
        wrong = ~np.isfinite(target) | (target < 0 if name == "hessians" else False)
        if wrong.any():
            document = int(np.flatnonzero(wrong)[0])
            query = int(np.searchsorted(data.offsets, document, "right")) - 1
            raise ValueError(
                f"the objective {_name(function)} returned {name} with the value "
                f"{array[document]} for document {document - data.offsets[query]} of query "
                f"{data.query_name(query)}"
            )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
