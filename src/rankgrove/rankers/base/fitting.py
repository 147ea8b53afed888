"""Input and result of a fit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataError, ModelError
from rankgrove.models.model import Model
from rankgrove.rankers.base.fitted import FittedRanker
from rankgrove.training.fit_evaluation import FitEvaluation
from rankgrove.training.journal import Journal
from rankgrove.training.progress import Callback
from rankgrove.training.step_loop import StepLoop
from rankgrove.workers.row_shard import RowShard


@dataclass(frozen=True)
class FitOptions:
    """The options of ``fit`` besides the data, as the caller gave them."""

    eval_set: Any = None
    eval_metric: Any = None
    early_stopping_rounds: int | None = None
    init_model: Any = None
    callbacks: Sequence[Callback] | None = None
    stopping_rule: str | None = None


@dataclass(frozen=True)
class Fit:
    """The checked input of one fit.

    Attributes
    ----------
    data : the training data
    shard : position of these rows among those of all workers, and all-reduce over them
    fill : per feature, the value that stands in for NaN; None: it stays missing
    init_model : the model from which boosting continues, with the columns of the data, or None
    seed : seed of everything random
    evaluation : the sets whose metrics are recorded
    callbacks : the caller's functions, called after each step
    journal : records of the steps of an earlier attempt, and the writer of new ones
    """

    data: RankingInput
    shard: RowShard
    fill: npt.NDArray[np.float32] | None
    init_model: Model | None
    seed: int
    evaluation: FitEvaluation
    callbacks: Sequence[Callback]
    journal: Journal = field(default_factory=Journal)

    def step_loop(
        self,
        ranker: FittedRanker,
        n_planned: int,
        by_query: Sequence[npt.NDArray[np.float64] | None] = (),
    ) -> StepLoop:
        """Return the loop over the steps of this fit, which starts after those in its journal.

        ``by_query`` are the ``query_values`` of the evaluation after those steps.
        """
        callbacks = (*self.journal.callbacks, *self.callbacks)
        resumed = self.journal.measured
        return StepLoop(
            ranker, n_planned, self.evaluation, callbacks, self.shard, resumed, by_query
        )


@dataclass(frozen=True)
class FitResult:
    """The result of a fit.

    Attributes
    ----------
    model : scores documents
    attributes : further fitted attributes, by names that end with an underscore
    interrupted : whether Ctrl-C cut the fit short
    """

    model: Model
    attributes: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False


def columns_of(init_model: Any) -> Columns | None:
    """Return the columns of the model that is continued; None if there is none."""
    is_fitted = isinstance(init_model, FittedRanker) and init_model.__sklearn_is_fitted__()
    return init_model.model_.columns if is_fitted else None


def init_model_of(init_model: Any, data: RankingInput, what: str = "init_model") -> Model | None:
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
