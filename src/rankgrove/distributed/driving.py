"""``fit`` on a cluster: from what a user gives to an undertaking, and back to the ranker."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from rankgrove.distributed.attempts import Undertaking
from rankgrove.distributed.engine import Engine, Source, find_engine
from rankgrove.distributed.parts import READING, Arrays, local_parts, path_parts
from rankgrove.distributed.query_plan import SPLIT_QUERIES
from rankgrove.distributed.worker import grows_forests
from rankgrove.errors import DataError, ModelError
from rankgrove.formats.container import read_container
from rankgrove.formats.ranker_state import set_learnt
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import FitOptions
from rankgrove.training.progress import progress_bar

Ranker = TypeVar("Ranker", bound=BaseRanker)

PATIENCE_SECONDS = 600.0


def fit(
    ranker: Ranker,
    data: Any,
    y: Any = None,
    *,
    on: Any,
    qid: Any = None,
    sample_weight: Any = None,
    eval_set: Any = None,
    eval_metric: Any = None,
    early_stopping_rounds: int | None = None,
    init_model: BaseRanker | None = None,
    n_workers: int | None = None,
    split_queries: str = "gather",
    patience: float = PATIENCE_SECONDS,
    **reading: Any,
) -> Ranker:
    """Train on a running cluster: the same bits as ``ranker.fit`` of the same data on one machine.

    Parameters
    ----------
    ranker : boosted trees or a forest
    data : what the cluster holds: a dask dataframe, dask arrays (with ``y`` and ``qid``), a Ray
        Dataset, a Spark DataFrame; or a path, a pattern, a folder or a list of those, which workers
        read, so that it must lead to the same files on every machine; or data of this process
    on : a Dask ``Client``, ``"ray"``, or a ``SparkSession``
    y, qid, sample_weight : of arrays, as in ``fit``
    eval_set : sets to be watched, each of a kind that ``data`` may have, or a tuple (X, y, qid)
    eval_metric, early_stopping_rounds, init_model : as in ``fit``
    n_workers : tasks at most; None: Dask's workers, Ray's machines, Spark's slots
    split_queries : a query whose documents are in several parts of the data: ``"gather"`` brings
        them together, ``"refuse"`` is an error that names it
    patience : seconds that a worker may keep the others waiting before it counts as lost
    reading : options of ``rankgrove.load`` for tables and files: label, query, features, ignore,
        weight, absent, n_features, first_feature, negative_labels, format

    Returns
    -------
    The ranker, fitted. Rows count in order of partitions (blocks, files by name), as if they were
    loaded one below the other with ``shared_queries="merge"``.

    Raises
    ------
    WorkerLost : workers were lost again and again without a step being finished in between
    """
    _refuse(ranker, split_queries, n_workers, reading)
    options = FitOptions(None, eval_metric, early_stopping_rounds, init_model)
    ranker.check_fit_options(options)
    ranker.check_params()
    engine = find_engine(on)
    arrays = None if y is None and qid is None else Arrays(data, y, qid, sample_weight)
    if arrays is None and sample_weight is not None:
        raise DataError("sample_weight goes with arrays; a table has a column: weight=")
    sources = [_source(engine, "the training data", data, arrays, reading)]
    watched: dict[str, int] = {}
    for name, entry in _named_sets(eval_set):
        watched[name] = 0 if entry is data else len(sources)
        if watched[name]:
            sources.append(_watched_source(engine, f"eval_set {name!r}", entry, reading))
    undertaking = Undertaking(
        engine=engine,
        sources=sources,
        ranker=_for_workers(ranker),
        n_workers=n_workers,
        job={
            "reading": [source.options for source in sources],
            "watched": watched,
            "fit_options": {k: v for k, v in vars(options).items() if v is not None},
            "split_queries": split_queries,
            "patience": patience,
        },
    )
    with progress_bar(ranker.ranker_name, ranker.verbose) as draw:
        model = undertaking.run(draw)
    _take(ranker, model)
    if undertaking.interrupted:
        raise KeyboardInterrupt
    return ranker


def _refuse(
    ranker: BaseRanker, split_queries: str, n_workers: int | None, reading: Mapping[str, Any]
) -> None:
    """Refuse what no data could make right."""
    unknown = sorted(set(reading) - set(READING))
    if unknown:
        raise TypeError(f"fit has no option {unknown[0]!r}")
    if split_queries not in SPLIT_QUERIES:
        raise ValueError(
            f"split_queries must be one of {', '.join(SPLIT_QUERIES)}, not {split_queries!r}"
        )
    if n_workers is not None and n_workers < 1:
        raise ValueError(f"n_workers must be at least 1, or None for all, not {n_workers!r}")
    if not ranker.fits_in_shards and not grows_forests(ranker):
        raise ModelError(
            f"{type(ranker).__name__} is fitted on one machine only: boosted trees and forests can "
            "be fitted on many"
        )


def _for_workers(ranker: BaseRanker) -> BaseRanker:
    """Return a copy for the workers, whose seed is the same in all attempts.

    (``clone`` would forget what a forest that is a parameter has learnt.)
    """
    if getattr(ranker, "warm_start", False):
        own = deepcopy(ranker)
    else:
        own = type(ranker)(**deepcopy(ranker.get_params(deep=False)))
    if own.random_state is None:
        own.set_params(random_state=secrets.randbits(32))
    return own


def _take(ranker: BaseRanker, model: bytes) -> None:
    """Give the ranker what the workers have learnt; nothing of an older fit stays."""
    state, arrays = read_container(model, "the model of the workers")
    for name in [name for name in vars(ranker) if name.endswith("_")]:
        delattr(ranker, name)
    set_learnt(ranker, state, arrays)
    if isinstance(ranker.random_state, np.random.RandomState):
        ranker.draw_seed()  # the workers drew from copies


def _source(
    engine: Engine, name: str, data: Any, arrays: Arrays | None, reading: Mapping[str, Any]
) -> Source:
    """Find out what kind of data these are."""
    if arrays is not None and (arrays.y is None or arrays.qid is None):
        lacking = "y" if arrays.y is None else "qid"
        raise DataError(f"{name}: arrays need {lacking}: give X, y and qid")
    if arrays is not None and reading:
        raise ValueError(f"{next(iter(reading))} does not apply to arrays")
    own = engine.source(name, data, arrays, reading)
    if own is not None:
        return own
    parts = path_parts(data) if arrays is None else None
    if parts is None:
        parts = local_parts(data, arrays, reading)
    if parts is None:
        raise DataError(
            f"{name}: {type(engine).__name__} does not know what to do with a "
            f"{type(data).__name__}: give {engine.takes}, paths, or a Dataset"
        )
    return Source(name, reading, parts=parts)


def _watched_source(engine: Engine, name: str, entry: Any, reading: Mapping[str, Any]) -> Source:
    if isinstance(entry, tuple) and len(entry) == 3 and path_parts(entry) is None:
        X, y, qid = entry
        return _source(engine, name, X, Arrays(X, y, qid), {})
    return _source(engine, name, entry, None, reading)


def _named_sets(eval_set: Any) -> list[tuple[str, Any]]:
    if eval_set is None:
        return []
    if isinstance(eval_set, Mapping):
        return [(str(name), entry) for name, entry in eval_set.items()]
    if not isinstance(eval_set, list):
        return [("valid", eval_set)]
    numbers = [""] if len(eval_set) == 1 else [str(i + 1) for i in range(len(eval_set))]
    return [(f"valid{number}", entry) for number, entry in zip(numbers, eval_set, strict=True)]
