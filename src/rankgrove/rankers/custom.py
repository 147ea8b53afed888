"""A boosted ranker for an objective that the user writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.custom import PerQueryObjective, PythonObjective
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import AnyOf, Flag, Nothing, Satisfies
from rankgrove.rankers.base.registry import register_ranker


@register_ranker("custom", optimises="an objective of your own", listed=False)
class CustomMART(BoostedRanker):
    """Boosting with gradients and Hessians from a Python function.

    Gradients are dLoss/dscore and Hessians must not be negative; document weights multiply both.
    The documents of a query stand together, in the order of the training data. The function is not
    stored in model files; a loaded model predicts without it.
    """

    objective: Callable[..., Any] | None = param(
        None,
        AnyOf(Satisfies(callable, "a function"), Nothing()),
        "``objective(scores, y, qid)`` over all documents, or ``objective(scores, y)`` over those "
        "of one query, returning gradients and Hessians; needed to fit",
    )
    per_query: bool = param(
        False,
        Flag(),
        "whether the objective sees one query at a time, compiled with numba if there",
    )
    compiled: bool = param(True, Flag(), "whether numba may compile a per-query objective")

    def _objective(self, data: TrainingData) -> Objective:
        if self.objective is None:
            raise ValueError("parameter objective of CustomMART must be a function to fit")
        if self.per_query:
            return PerQueryObjective(data, self.objective, compile=self.compiled)
        return PythonObjective(data, self.objective)
