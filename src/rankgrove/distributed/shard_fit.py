"""``fit_shard``: one worker's part in a fit whose rows are sharded over workers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rankgrove._arguments import require_number
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.distributed.arrow_bytes import from_frames, to_frames
from rankgrove.distributed.consistency import (
    refuse_differences,
    refuse_other_builds,
    refuse_shared_queries,
)
from rankgrove.distributed.shard import Shard
from rankgrove.distributed.tree_sharing import CollectiveTreeSharer, seed_of_rounds
from rankgrove.errors import ModelError, WorkerError
from rankgrove.forests.growing import sharing_trees
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fit_key import data_key, parameters_key
from rankgrove.rankers.base.fitting import FitOptions
from rankgrove.rankers.base.parameter_encoding import encoded_params, model_digest
from rankgrove.training.fit_workers import FitWorkers
from rankgrove.training.journal import Journal, OnStep
from rankgrove.workers.communicator import Communicator
from rankgrove.workers.row_shard import RowShard

Ranker = TypeVar("Ranker", bound=BaseRanker)

# First byte of the record of a round of a forest; that of a boosted step has another.
ROUND = b"r"

_OPTIONS = ("eval_metric", "early_stopping_rounds", "stopping_rule", "init_model", "callbacks")


def fit_shard(
    ranker: Ranker,
    shard: Shard,
    communicator: Communicator,
    *,
    fit_options: Mapping[str, Any] | None = None,
    bin_error: float = 0.0,
    resume: Sequence[bytes] = (),
    on_step: OnStep | None = None,
) -> Ranker:
    """Fit a ranker together with the other workers, each of which calls this with its shard.

    All workers return the same ranker, fitted: ``save`` writes the same bytes as after one ``fit``
    of all shards in a row, whatever the number of workers. (Where ``random_state`` is None, worker
    0 draws the seed.) If it raises on one worker, the others raise ``WorkerFailed`` or
    ``WorkerLost``; the ranker stays as it was.

    Parameters
    ----------
    ranker : with the same parameters on every worker (``n_jobs`` and ``verbose`` may differ; bars
        and lines are drawn by worker 0 alone)
    shard : this worker's shard of the data
    communicator : connects the workers; it stays open for what comes next, unless the fit fails:
        then the reason has been sent to the others, and it is closed
    fit_options : ``eval_metric``, ``early_stopping_rounds``, ``stopping_rule``, ``init_model`` and
        ``callbacks`` (of worker 0 alone) as for ``fit``, the same on every worker
    bin_error : 0 finds exact bins; else each worker sends a summary of a feature's values by which
        the number of documents below any value is off by at most this part of them. Bits then
        depend on the shards
    resume : records of the steps that an earlier attempt on the same data finished, in order,
        whatever the number of its workers; those of worker 0 count. The fit goes on after them, to
        the bits that it would have had uninterrupted. They are checked: records of another fit are
        refused
    on_step : ``on_step(step, record, metrics)``, called by worker 0 after each new step: the number
        of the step (from 1), its record, a few kilobytes, and ``{set: {metric: newest value}}``. A
        true answer ends the training. Kept in order, the records are what ``resume`` takes. A
        forest is grown in rounds of trees: the step is the number of trees so far, and the answer
        is not asked for

    Raises
    ------
    ModelError : for a ranker that cannot be fitted in shards; names it and says why
    DataError : for shards that do not belong together; names the workers
    WorkerLost, WorkerFailed : when another worker died, or gave up with an error
    """
    try:
        options = dict(fit_options or {})
        return _fit(ranker, shard, communicator, options, bin_error, resume, on_step)
    except WorkerError:
        raise
    except BaseException as error:
        communicator.abort(f"{type(error).__name__}: {error}")
        raise


@dataclass
class ShardWorkers(FitWorkers):
    """Several workers, whose shards must be consistent.

    Attributes
    ----------
    bin_error : as in ``fit_shard``
    sharer : grows forests in rounds
    key : of the ranker that is fitted, for the records of rounds
    """

    bin_error: float = 0.0
    sharer: CollectiveTreeSharer | None = None
    key: Mapping[str, Any] = field(default_factory=dict)

    def seed(self, drawn: int) -> int:
        """Return the seed of the fit, which is in the records of rounds, too."""
        seed = super().seed(drawn)
        if self.sharer is not None:
            self.sharer.key["seed"] = seed
        return seed

    def checked_input(self, given: FitData) -> tuple[RankingInput, RowShard]:
        """Check this worker's data, and that columns and weights are those of the others."""
        data, shard = super().checked_input(given)
        assert self.communicator is not None
        refuse_differences(
            self.communicator,
            {
                "number of columns": data.columns.count,
                "names of columns": None if data.columns.names is None else [*data.columns.names],
                "sample_weight": _given(data.weight),
                "position": _given(data.position),
                "propensity": _given(data.propensity),
                "reading of absent features": data.absent,
                "categorical columns": [data.columns.all_names[j] for j in data.X.categories],
            },
        )
        if self.sharer is not None:
            self.sharer.key |= {**self.key, **data_key(data, shard)}
        numbers = given.row_numbers if isinstance(given, Shard) else None
        return data, replace(shard, bin_error=self.bin_error, given=numbers)


def _given(values: Any) -> str:
    return "not given" if values is None else "given"


def _fit(
    ranker: Ranker,
    shard: Shard,
    communicator: Communicator,
    options: dict[str, Any],
    bin_error: float,
    resume: Sequence[bytes],
    on_step: OnStep | None,
) -> Ranker:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ValueError(f"fit_options has no {unknown[0]!r}: it takes {', '.join(_OPTIONS)}")
    check_bin_error(bin_error)
    refuse_shards(ranker)
    refuse_other_builds(communicator)
    settings = {"bin_error": bin_error, **_settings(ranker, options), **shard.settings()}
    refuse_differences(communicator, settings)
    refuse_shared_queries(communicator, shard)
    own = [b"records are kept" if on_step is not None else b"", *resume]
    keeps, *records = from_frames(communicator.broadcast(to_frames(own)))
    first = communicator.rank == 0
    if not first:
        options["callbacks"] = None
    rounds, steps = split_records(records)
    n_forest, n_boosted = ranker.planned_trees()
    journal = Journal(seed=seed_of_rounds(rounds))
    if n_boosted:

        def on_boosted(step: int, record: bytes, metrics: Any) -> Any:
            return on_step(n_forest + step, record, metrics) if on_step is not None else None

        keeps_own = first and on_step is not None
        journal = Journal(
            steps, on_boosted if keeps_own else None, bool(keeps), seed_of_rounds(rounds)
        )

    def on_round(n_trees: int, record: bytes) -> None:
        if first and on_step is not None:
            on_step(n_trees, ROUND + record, {})

    sharer = CollectiveTreeSharer(communicator, ranker.n_jobs, rounds, on_round, sharded=True)
    workers = ShardWorkers(communicator, journal, bin_error, sharer, parameters_key(ranker))
    with sharing_trees(sharer):
        return ranker._fit(shard, FitOptions(shard.fit_eval_set(), **options), workers)


def split_records(records: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the records of rounds of forests, and those of boosted steps."""
    rounds = [record[len(ROUND) :] for record in records if record.startswith(ROUND)]
    return rounds, [record for record in records if not record.startswith(ROUND)]


def refuse_shards(ranker: BaseRanker) -> None:
    """Refuse a ranker that cannot be fitted in shards, and say what to do."""
    if "rows" in ranker.sharing():
        return
    name = type(ranker).__name__
    if "rows" in ranker.shares:
        raise ModelError(
            f"{name} cannot be fitted in shards with Python functions that see all documents: use "
            "the criteria and extension points that have names, or let the workers share the trees "
            "(rankgrove.distributed.fit with share='trees'), which needs all documents on each"
        )
    if "trees" in ranker.shares:
        raise ModelError(
            f"{name} cannot be fitted in shards: its splits depend on all documents of all "
            "queries. Let the workers share the trees (rankgrove.distributed.fit), which needs all "
            "documents on each, grow parts of the forest on parts of the queries and merge them, "
            "or fit RFPoint"
        )
    raise ModelError(f"{name} cannot be fitted in shards: it needs all documents in one place")


def check_bin_error(bin_error: float) -> None:
    """Refuse an error of bins that is no part of the documents."""
    words = "a part of the documents, 0 to 1"
    require_number(bin_error, "bin_error", words, lambda x: 0.0 <= x < 1.0)


def _settings(ranker: BaseRanker, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that must be the same on all workers, by name."""
    params = encoded_params(ranker)
    params.pop("random_state", None)  # worker 0 draws
    return {
        "ranker": type(ranker).__name__,
        **{f"parameter {name}": json.dumps(value) for name, value in params.items()},
        "eval_metric": str(options.get("eval_metric")),
        "early_stopping_rounds": str(options.get("early_stopping_rounds")),
        "stopping_rule": str(options.get("stopping_rule")),
        "init_model": _digest_of(options.get("init_model")),
    }


def _digest_of(init_model: Any) -> str | None:
    """Return a digest of a model; the fit refuses what is no fitted ranker."""
    model = getattr(init_model, "model_", None)
    return type(init_model).__name__ if model is None else model_digest(model)
