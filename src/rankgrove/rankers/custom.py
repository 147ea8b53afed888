"""A boosted ranker for an objective that the user writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.custom import PerQueryObjective, PythonObjective
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import AnyOf, Flag, Nothing, Satisfies
from rankgrove.rankers.base.registry import register_ranker


@register_ranker("custom", optimises="an objective of your own", listed=False)
class CustomMART(BoostedRanker):
    """Boosting with gradients and Hessians from a Python function.

    The function is ``objective(scores, y, qid, weight) -> gradients, hessians``: gradients are
    dLoss/dscore, Hessians must not be negative. It is called once for all documents, grouped by
    query, with the number of each document's query in ``qid`` (from 0, in order of first
    appearance); or, with ``per_query``, once for each query, whose number is ``qid``. ``weight``
    holds the weights of the documents (1 by default); the function itself must multiply its results
    by them. The
    function is not stored in model files; a loaded model predicts without it.
    """

    objective: Callable[..., Any] | None = param(
        None,
        AnyOf(Satisfies(callable, "a function"), Nothing()),
        "``objective(scores, y, qid, weight)``, returning gradients and Hessians; needed to fit",
    )
    per_query: bool = param(
        False,
        Flag(),
        "whether the objective sees one query at a time, compiled with numba if there",
    )
    compiled: bool = param(True, Flag(), "whether numba may compile a per-query objective")

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = {} if self.per_query else {"compiled": "without per_query"}
        return {**super()._unused_parameters(data), **unused}

    def _objective(self, data: TrainingData) -> Objective:
        if self.objective is None:
            raise ValueError("parameter objective of CustomMART must be a function to fit")
        if self.per_query:
            return PerQueryObjective(data, self.objective, compiled=self.compiled)
        return PythonObjective(data, self.objective)
