"""Input and result of a fit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataError, ModelError
from rankgrove.models.model import Model
from rankgrove.rankers.base.fitted import FittedRanker
from rankgrove.training.journal import Journal
from rankgrove.training.progress import Callback
from rankgrove.training.step_loop import StepLoop
from rankgrove.training.watch import Watch
from rankgrove.workers.row_shard import RowShard


@dataclass(frozen=True)
class FitOptions:
    """The options of ``fit`` besides the data, as the caller gave them."""

    eval_set: Any = None
    eval_metric: Any = None
    early_stopping_rounds: int | None = None
    init_model: Any = None
    callbacks: Sequence[Callback] | None = None


@dataclass(frozen=True)
class Fit:
    """The checked input of one fit.

    Attributes
    ----------
    data : the training data
    shard : position of these rows among those of all workers, and all-reduce over them
    fill : per feature, the value that stands in for NaN; None: it stays missing
    background : the model whose scores are to be improved, with the columns of the data, or None
    seed : seed of everything random
    watch : the sets whose metrics are recorded
    callbacks : what the caller wants to be called after each step
    journal : records of steps, to go on from and to be written
    """

    data: RankingInput
    shard: RowShard
    fill: npt.NDArray[np.float32] | None
    background: Model | None
    seed: int
    watch: Watch
    callbacks: Sequence[Callback]
    journal: Journal = field(default_factory=Journal)

    def step_loop(self, ranker: FittedRanker, n_planned: int) -> StepLoop:
        """Return the loop over the steps of this fit, which starts after those in its journal."""
        callbacks = (*self.journal.callbacks, *self.callbacks)
        resumed = self.journal.measured
        return StepLoop(ranker, n_planned, self.watch, callbacks, self.shard, resumed)


@dataclass(frozen=True)
class FitResult:
    """The result of a fit.

    Attributes
    ----------
    model : scores documents
    attributes : what else the ranker shows, by names that end with an underscore
    interrupted : whether Ctrl-C cut the fit short
    """

    model: Model
    attributes: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False


def background_of(init_model: Any, data: RankingInput, what: str = "init_model") -> Model | None:
    """Return the model of ``init_model`` (errors call it ``what``) with the columns of the data."""
    if init_model is None:
        return None
    if not isinstance(init_model, FittedRanker):
        path = isinstance(init_model, str | os.PathLike)
        raise ModelError(
            f"{what} must be a fitted ranker of rankgrove, not {type(init_model).__name__}"
            + (f": rankgrove.load_model({str(init_model)!r}) makes one of a file" if path else "")
        )
    model = init_model.fitted_model()
    if data.absent is not None and model.absent is not None and data.absent != model.absent:
        raise ModelError(
            f"{what} was trained on text whose absent features were read as {model.absent!r}, "
            f"not as {data.absent!r}"
        )
    try:
        return model.with_columns(data.columns)
    except DataError as error:
        raise ModelError(f"{what} does not fit the data: {error}") from error
