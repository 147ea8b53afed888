"""``fit`` on a cluster, on the driver's side: check the arguments, run the fit, set the model."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from rankgrove._arguments import require_integer, require_number
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.fit_data import FitData
from rankgrove.distributed.cluster_fit import ClusterFit
from rankgrove.distributed.engine import DataSource, Engine
from rankgrove.distributed.engines import find_engine
from rankgrove.distributed.partitions import (
    READING_OPTIONS,
    local_partitions,
    path_partitions,
)
from rankgrove.distributed.query_plan import SPLIT_QUERIES
from rankgrove.distributed.shard_fit import check_bin_error, refuse_shards
from rankgrove.errors import DataError, ModelError
from rankgrove.formats.container import read_container
from rankgrove.formats.ranker_state import set_learnt
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import FitOptions
from rankgrove.training.fit_evaluation import named_sets
from rankgrove.training.progress import progress_bar

Ranker = TypeVar("Ranker", bound=BaseRanker)

PATIENCE_SECONDS = 600.0
SHARES = ("rows", "trees")


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
    stopping_rule: str | None = None,
    init_model: BaseRanker | None = None,
    n_workers: int | None = None,
    split_queries: str = "gather",
    bin_error: float = 0.0,
    share: str | None = None,
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
    y, qid, sample_weight, position, propensity : of arrays, as in ``fit``; ``position`` and
        ``propensity`` of tables and files are names of columns
    eval_set : evaluation sets, each of a kind that ``data`` may have, or a tuple (X, y, qid)
    eval_metric, early_stopping_rounds, stopping_rule, init_model : as in ``fit``
    n_workers : tasks at most; None: Dask's workers, Ray's machines, Spark's slots
    split_queries : a query whose documents are in several parts of the data: ``"gather"`` brings
        them together, ``"refuse"`` is an error that names it
    bin_error : 0: the bins of one machine. Else workers find them from summaries of their values,
        which are small: the number of documents below any value is off by at most this part of all
        documents, and the model depends on how the data are shared out
    share : what the workers of a forest share. ``"rows"``: each holds a part of the queries, so
        that the data may be larger than any machine; ``"trees"``: each holds all documents and
        grows a part of the trees, which is quicker; None: trees if all documents take less than
        half of the memory that every worker has left. Boosted rankers share rows
    patience : seconds that a worker may keep the others waiting before it counts as lost
    reading : options of ``rankgrove.load`` that say how tables and files are read: label, query,
        features, absent, format, ... (``data/reading/options.py`` says which)

    Returns
    -------
    The ranker, fitted. Rows count in order of partitions (blocks, files by name), as if they were
    loaded one below the other with ``shared_queries="merge"``.

    Raises
    ------
    WorkerLost : workers were lost again and again without a step being finished in between
    """
    _refuse(ranker, split_queries, n_workers, bin_error, share, patience, reading)
    _refuse_share(ranker, share)
    options = FitOptions(
        None, eval_metric, early_stopping_rounds, init_model, stopping_rule=stopping_rule
    )
    ranker.check_fit_options(options)
    ranker.check_params()
    engine = find_engine(on)
    given = _arrays(ranker, data, y, qid, sample_weight, reading)
    sources = [_source(engine, "the training data", data, given, reading)]
    eval_sets: dict[str, int] = {}
    for name, entry in named_sets(eval_set):
        eval_sets[name] = 0 if entry is data else len(sources)
        if eval_sets[name]:
            sources.append(_eval_source(engine, f"eval_set {name!r}", entry, reading))
    cluster_fit = ClusterFit(
        engine=engine,
        sources=sources,
        ranker=_for_workers(ranker),
        n_workers=n_workers,
        task={
            "reading": [source.options for source in sources],
            "eval_sets": eval_sets,
            "fit_options": {k: v for k, v in vars(options).items() if v is not None},
            "split_queries": split_queries,
            "bin_error": bin_error,
            "share": share,
            "patience": patience,
        },
    )
    with progress_bar(ranker.ranker_name, ranker.verbose) as draw:
        model = cluster_fit.run(draw)
    state, arrays = read_container(model, "the model of the workers")
    set_learnt(ranker, state, arrays)
    if isinstance(ranker.random_state, np.random.RandomState):
        ranker.draw_seed()  # the workers drew from copies
    if cluster_fit.interrupted:
        raise KeyboardInterrupt
    return ranker


def _arrays(
    ranker: BaseRanker, data: Any, y: Any, qid: Any, sample_weight: Any, reading: dict[str, Any]
) -> FitData | None:
    """Return data that are given as arrays, with what ``reading`` has of them; None for others."""
    if y is None and qid is None:
        if sample_weight is not None:
            raise DataError("sample_weight goes with arrays; a table has a column: weight=")
        return None
    shown = {name: reading.pop(name, None) for name in ("position", "propensity")}
    given = FitData(data, y, qid, sample_weight=sample_weight, **shown)
    ranker.check_clicks(given)
    return given


def _refuse(
    ranker: BaseRanker,
    split_queries: str,
    n_workers: int | None,
    bin_error: float,
    share: str | None,
    patience: float,
    reading: Mapping[str, Any],
) -> None:
    """Refuse arguments that are wrong whatever the data are."""
    unknown = sorted(set(reading) - set(READING_OPTIONS))
    if unknown:
        raise TypeError(f"fit has no option {unknown[0]!r}")
    if split_queries not in SPLIT_QUERIES:
        raise ValueError(
            f"split_queries must be one of {', '.join(SPLIT_QUERIES)}, not {split_queries!r}"
        )
    if n_workers is not None:
        require_integer(n_workers, "n_workers", 1)
    require_number(patience, "patience", "a number of seconds above 0", lambda x: x > 0)
    if not ranker.shares:
        raise ModelError(
            f"{type(ranker).__name__} is fitted on one machine only: boosted trees and forests can "
            "be fitted on many"
        )
    check_bin_error(bin_error)
    if bin_error and (share or ranker.shares[0]) != "rows":
        raise ValueError(
            f"bin_error has no effect on {type(ranker).__name__}, whose workers may hold all "
            "documents: share='rows' gives each a part of them, if it can be fitted so"
        )


def _refuse_share(ranker: BaseRanker, share: str | None) -> None:
    """Refuse what the workers of this ranker cannot share."""
    if share is None:
        return
    if share not in SHARES:
        raise ValueError(f"share must be one of {', '.join(SHARES)}, or None, not {share!r}")
    if share == "rows":
        refuse_shards(ranker)
    elif "trees" not in ranker.sharing():
        raise ModelError(
            f"{type(ranker).__name__} has no trees to share: each follows from those before it"
        )


def _for_workers(ranker: BaseRanker) -> BaseRanker:
    """Return a copy for the workers, whose seed is the same in all attempts.

    (``clone`` would drop the model of a fitted forest that is a parameter.)
    """
    if getattr(ranker, "warm_start", False):
        own = deepcopy(ranker)
    else:
        own = type(ranker)(**deepcopy(ranker.get_params(deep=False)))
    if own.random_state is None:
        own.set_params(random_state=secrets.randbits(32))
    return own


def _source(
    engine: Engine, name: str, data: Any, arrays: FitData | None, reading: Mapping[str, Any]
) -> DataSource:
    """Return the data set with its partitions, whatever kind of data it is given as."""
    if arrays is not None and (arrays.y is None or arrays.qid is None):
        lacking = "y" if arrays.y is None else "qid"
        raise DataError(f"{name}: arrays need {lacking}: give X, y and qid")
    if arrays is not None and reading:
        raise ValueError(f"{next(iter(reading))} does not apply to arrays")
    own = engine.source(name, data, arrays, reading)
    if own is not None:
        return own
    partitions = path_partitions(data) if arrays is None else None
    if partitions is None:
        partitions = local_partitions(data, arrays, reading)
    if partitions is None:
        raise DataError(
            f"{name}: {type(engine).__name__} does not know what to do with a "
            f"{type(data).__name__}: give {engine.accepts}, paths, or a Dataset"
        )
    return DataSource(name, reading, partitions=partitions)


def _eval_source(engine: Engine, name: str, entry: Any, reading: Mapping[str, Any]) -> DataSource:
    if isinstance(entry, tuple) and len(entry) == 3 and path_partitions(entry) is None:
        X, y, qid = entry
        return _source(engine, name, X, FitData(X, y, qid), {})
    if isinstance(entry, Dataset):  # it has been read: the options are those of the training data
        reading = {}
    return _source(engine, name, entry, None, reading)
