"""Scoring with tree ensembles, by the fastest traversal that the trees allow."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._arrays import addressable
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.columns import Columns, refuse_other_reading
from rankgrove.data.matrix.dense import DenseMatrix, as_matrix
from rankgrove.data.matrix.feature_matrix import Array, FeatureMatrix
from rankgrove.errors import ModelError
from rankgrove.trees.ensemble import NODE_TYPES, TREE_TYPES, TreeEnsemble
from rankgrove.trees.links import IDENTITY, Link
from rankgrove.trees.precise import Ranks, has_precise_thresholds
from rankgrove.trees.top_k import ExitRule, check_k, exit_stages


class Scorer:
    """A tree ensemble prepared for scoring; safe to share between threads.

    Scores are the same bits whatever the number of threads, the batch size and the memory layout of
    the input: leaf values are added in tree order in float64. Inputs of up to about a thousand rows
    (one query) are scored on the calling thread.

    Parameters
    ----------
    ensemble : the trees
    fill : float32 array of n_features values that replace NaN; NaN keeps a feature's missing values
        missing, and each split's own direction decides. None: all features keep them.
    missing_up_to : float32 array of n_features magnitudes; a value up to that counts as missing as
        well (some models take 0 for missing). Negative, or None: only NaN is missing.
    columns : the columns of the training data, by which those of frames and Datasets are matched
    absent : how absent features of the training data were read; None: unknown, or not from text
    link : from the outputs of the trees to the score; None: scores are the outputs themselves
    walk : walk through all trees node by node, instead of the fastest way for each
    vector_bits : the widest vector registers that may be used, where the machine has them: 512,
        256, or 0 for plain code
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        fill: npt.ArrayLike | None = None,
        missing_up_to: npt.ArrayLike | None = None,
        *,
        columns: Columns | None = None,
        absent: str | None = None,
        link: Link | None = None,
        walk: bool = False,
        vector_bits: int = 512,
    ) -> None:
        self.ensemble = ensemble
        self._options: dict[str, Any] = {
            "fill": fill,
            "missing_up_to": missing_up_to,
            "walk": walk,
            "vector_bits": vector_bits,
        }
        self._parts: dict[tuple[int, int], Scorer] = {}
        self._columns = Columns(None, ensemble.n_features) if columns is None else columns
        self._absent = absent
        self._link = None if link == IDENTITY else link
        self.n_features = ensemble.n_features
        self.n_outputs = ensemble.n_outputs
        self._is_precise = has_precise_thresholds(ensemble)
        self._native = self._prepared(np.empty(0))

    @cached_property
    def _narrow(self) -> tuple[Scorer, npt.NDArray[np.int64]]:
        """A scorer on the columns that splits use, and the numbers of these columns."""
        trees, used = self.ensemble.narrowed()
        options = dict(self._options)
        for name in ("fill", "missing_up_to"):
            if options[name] is not None:
                options[name] = np.asarray(options[name], np.float32)[used]
        return Scorer(trees, **options, link=self._link), used

    @cached_property
    def _native_precise(self) -> _native.Scorer:
        """The native scorer that compares float64 values with ``precise`` thresholds."""
        assert self.ensemble.precise is not None
        return self._prepared(self.ensemble.precise)

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks(self.ensemble, self._options["fill"], self._options["missing_up_to"])

    def _prepared(self, precise: npt.NDArray[np.float64]) -> _native.Scorer:
        options, n_features = self._options, self.n_features
        try:
            return _native.Scorer(
                self.ensemble,
                fill=_per_feature(options["fill"], n_features, "fill"),
                missing_up_to=_per_feature(options["missing_up_to"], n_features, "missing_up_to"),
                precise=precise,
                walk=options["walk"],
                vector_bits=options["vector_bits"],
            )
        except (TypeError, ValueError) as error:
            raise ModelError(f"these trees cannot be scored: {error}") from error

    def _add_up(
        self, X: npt.NDArray[Any], n_threads: int, out: npt.NDArray[np.float64], go_on: bool = False
    ) -> None:
        """Fill ``out``, (n, n_outputs); compare in float64 if the trees and X are precise."""
        wide = self._is_precise and X.dtype == np.float64
        (self._native_precise if wide else self._native).predict(X, n_threads, out, go_on)

    def predict(
        self,
        X: Any,
        n_jobs: int | None = None,
        out: npt.NDArray[np.float64] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Score each row of X.

        Parameters
        ----------
        X : array of shape (n, n_features), sparse matrix, data frame or Dataset. Arrays of float32
            and float64 are read in place in C, Fortran or any strided order; float64 is rounded to
            the nearest float32, in which all comparisons are made (but by trees with ``precise``
            thresholds: they compare in float64). Other types are converted first. NaN is missing.
        n_jobs : number of threads (None or -1: all)
        out : C-contiguous, writable float64 array that receives the scores; it shares no memory
            with X

        Returns
        -------
        float64 array of n scores, or (n, n_outputs) if there are several outputs and no link
        """
        n_outputs = 1 if self._link is not None else self.n_outputs
        matrix = self._matrix(X)
        shape = (len(matrix),) if n_outputs == 1 else (len(matrix), n_outputs)
        if out is None:
            out = np.empty(shape)
        else:
            _check_out(out, shape, matrix)
        n_threads = resolve_n_jobs(n_jobs)
        if matrix.entries is not None:
            narrow, used = self._narrow
            begin = 0
            for block in matrix.row_blocks(used, n_jobs):
                narrow.predict(block, n_jobs, out[begin : begin + len(block)])
                begin += len(block)
        elif self._link is None:
            array = matrix.to_array()
            self._add_up(array, n_threads, out.reshape(len(matrix), self.n_outputs))
        else:
            raw = np.empty((len(matrix), self.n_outputs))
            self._add_up(matrix.to_array(), n_threads, raw)
            out[:] = self._link.apply(np.ascontiguousarray(raw.T), n_threads)
        return out

    def top_k(
        self, X: Any, k: int, early_exit: ExitRule | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Find the k best documents of one query without scoring all of them to the end.

        Parameters
        ----------
        X : the documents of one query: an array, data frame or Dataset
        k : how many are wanted
        early_exit : what ``models.early_exit.EarlyExit.learn`` learnt, to drop documents that are
            unlikely to reach the first k. None: only documents that cannot reach them are dropped,
            and the answer is exactly that of ``predict``.

        Returns
        -------
        rows of the (up to) k best documents, best first (equal scores in the order of X), and their
        scores, which are those of ``predict``
        """
        check_k(self.n_outputs, k)
        matrix = self._matrix(X).to_array("top_k")
        rows = np.arange(len(matrix), dtype=np.int64)
        scores = np.empty(len(matrix))
        done = 0
        for stage, slack in exit_stages(self.ensemble, k, early_exit):
            alive = matrix if len(rows) == len(matrix) else matrix[rows]
            self.part(done, stage).add_to(scores, alive, done > 0)
            done = stage
            if slack is not None and len(rows) > k:
                kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k] - slack
                rows, scores = rows[kept], scores[kept]
        best = np.argsort(-scores, kind="stable")[:k]
        rows, scores = rows[best], scores[best]
        return rows, scores if self._link is None else self._link.apply(scores[None, :])

    def part(self, first: int, last: int) -> Scorer:
        """Return the memoised scorer of the trees ``first:last``, without link."""
        part = self._parts.get((first, last))
        if part is None:
            trees = self.ensemble.head(last)
            if first > 0:
                trees = trees.tail(first)
            part = self._parts[first, last] = Scorer(trees, **self._options)
        return part

    def raw(self, X: FeatureMatrix | Array, n_jobs: int | None = None) -> npt.NDArray[np.float64]:
        """Return the outputs of a checked matrix before the link, shape (n, n_outputs)."""
        X = as_matrix(X)
        if X.entries is not None:
            narrow, used = self._narrow
            blocks = [narrow.raw(block, n_jobs) for block in X.row_blocks(used, n_jobs)]
            return np.concatenate(blocks) if blocks else np.empty((0, self.n_outputs))
        outputs = np.empty((len(X), self.n_outputs))
        self._add_up(X.to_array(), resolve_n_jobs(n_jobs), outputs)
        return outputs

    def uncertain(self, X: npt.NDArray[np.float32]) -> int:
        """Count the values whose rounding to float32 may have changed scores."""
        return self._ranks.uncertain(X) if self._is_precise else 0

    def add_to(self, scores: npt.NDArray[np.float64], X: npt.NDArray[Any], go_on: bool) -> None:
        """Add to the scores of earlier trees, or overwrite them, on the calling thread."""
        self._add_up(X, 1, scores.reshape(len(X), 1), go_on)

    def _matrix(self, X: Any) -> FeatureMatrix:
        """Check the columns; plain float arrays, as in serving, take a fast path."""
        if (
            type(X) is np.ndarray
            and not self._columns.categories  # by value: those of an array are numbers
            and X.ndim == 2
            and X.shape[1] == self.n_features
            and (X.dtype == np.float32 or X.dtype == np.float64)
        ):
            return DenseMatrix(addressable(X))
        if isinstance(X, FeatureMatrix) and X.n_columns == self.n_features:
            return X  # its columns are matched already
        refuse_other_reading(X, self._absent, "the scorer")
        return self._columns.match(X)


def _check_out(out: npt.NDArray[Any], shape: tuple[int, ...], matrix: FeatureMatrix) -> None:
    fits = out.shape == shape and out.dtype == np.float64 and out.flags.c_contiguous
    if not fits or not out.flags.writeable:
        kind = f"{out.dtype} of shape {out.shape}" if not fits else "a read-only one"
        raise ValueError(
            f"out must be a C-contiguous, writable float64 array of shape {shape}, not {kind}"
        )
    if isinstance(matrix, DenseMatrix) and np.may_share_memory(out, matrix.to_array()):
        raise ValueError("out shares memory with X, which would change while it is read")


def check_ensemble(ensemble: TreeEnsemble) -> None:
    """Raise ModelError unless the trees satisfy the invariants of scoring and explaining."""
    for name, types in NODE_TYPES.items():
        array = getattr(ensemble, name)
        if array.shape != ensemble.feature.shape or array.dtype not in types:
            wanted = " or ".join(np.dtype(dtype).name for dtype in types)
            raise ModelError(f"{name} does not have a {wanted} value for each node")
    precise = ensemble.precise
    if precise is not None and (
        precise.shape != ensemble.feature.shape
        or precise.dtype != np.float64
        or np.isnan(precise).any()
        or np.isneginf(precise).any()
    ):
        raise ModelError("precise does not have a float64 threshold for each node")
    if ensemble.category_sets is not None:
        ensemble.category_sets.check(len(ensemble.feature))
    for name, dtype in TREE_TYPES.items():
        array = getattr(ensemble, name)
        if array.ndim != 1 or array.dtype != dtype:
            raise ModelError(f"{name} are not {np.dtype(dtype).name} numbers")
    if not (np.isfinite(ensemble.value).all() and np.isfinite(ensemble.gain).all()):
        raise ModelError("a node has a value or a gain that is no number")
    if not ((ensemble.count >= 0) & (ensemble.count < np.inf)).all():
        raise ModelError("a node has a count that is no number from 0 on")
    try:
        _native.check_ensemble(ensemble)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the trees are not well formed: {error}") from error


def _per_feature(
    values: npt.ArrayLike | None, n_features: int, name: str
) -> npt.NDArray[np.float32]:
    if values is None:
        return np.empty(0, np.float32)
    array = np.ascontiguousarray(values, np.float32)
    if array.shape != (n_features,):
        raise ModelError(
            f"{name} must have one value for each of {n_features} features, not shape {array.shape}"
        )
    return array
