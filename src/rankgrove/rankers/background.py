"""A fitted model under a new one: training continues from its scores.

A background model whose scores are plain sums of trees becomes the first part of the new ensemble.
Any other (one with a link, other fill values, or no trees) stays whole, and its score is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.features import check_columns
from rankgrove.errors import ModelError
from rankgrove.rankers.base import BaseRanker
from rankgrove.rankers.tree_ranker import TreeRanker
from rankgrove.trees.ensemble import TreeEnsemble


@dataclass(frozen=True)
class Background:
    """Where the scores of a fit start.

    Attributes
    ----------
    base_score : score of every document before the first tree; 0 if there is a model
    model : the background model, or None
    head : its ensemble, if the new trees can be appended to it
    apart : the model whose scores must be added apart from the ensemble, or None
    """

    base_score: npt.NDArray[np.float64]
    model: BaseRanker | None = None
    head: TreeEnsemble | None = None
    apart: BaseRanker | None = None

    def start_scores(self, X: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Raw scores before the first tree: (n_rows,), or (n_outputs, n_rows) for several."""
        n_outputs = len(self.base_score)
        if self.model is None:
            start = np.repeat(self.base_score[:, None], len(X), axis=1)
        elif isinstance(self.model, TreeRanker) and self.head is not None:
            raw = self.model._tree_scorer().predict(X, n_jobs=self.model.n_jobs)
            start = raw.reshape(len(X), -1).T
        else:
            start = np.zeros((1, len(X)))
        if self.apart is not None:
            start = start + self.apart._scores(X)
        return np.ascontiguousarray(start[0] if n_outputs == 1 else start)

    def ensemble(self, new: TreeEnsemble) -> TreeEnsemble:
        """Put the new trees after those of the background model."""
        return new if self.head is None else self.head.followed_by(new)


def background_of(
    init_model: Any, ranker: TreeRanker, base_score: npt.NDArray[np.float64]
) -> Background:
    """Check ``init_model`` and find out how it can carry the new trees."""
    if init_model is None:
        return Background(base_score)
    if not isinstance(init_model, BaseRanker):
        raise ModelError(
            f"init_model must be a fitted ranker of rankgrove, not {type(init_model).__name__}"
        )
    init_model._check_fitted()
    try:
        check_columns(ranker.n_features_in_, None, init_model.n_features_in_, None)
    except ValueError as error:
        raise ModelError(f"init_model does not fit the data: {error}") from error
    zero = np.zeros(len(base_score))
    if _appends(init_model, ranker, len(base_score)):
        return Background(
            zero, init_model, init_model.ensemble_, getattr(init_model, "background_", None)
        )
    if type(ranker)._link is not TreeRanker._link:
        raise ModelError(
            f"{type(ranker).__name__} can only continue a {type(ranker).__name__} with the same "
            f"outputs, not this {type(init_model).__name__}"
        )
    return Background(zero, init_model, apart=init_model)


def _appends(model: BaseRanker, ranker: TreeRanker, n_outputs: int) -> bool:
    if not isinstance(model, TreeRanker) or model.ensemble_.n_outputs != n_outputs:
        return False
    if type(model)._link is not type(ranker)._link:
        return False
    if model._output_meaning() != ranker._output_meaning():
        return False
    if model.fill_ is None or ranker.fill_ is None:
        return model.fill_ is ranker.fill_
    return np.array_equal(model.fill_, ranker.fill_, equal_nan=True)
