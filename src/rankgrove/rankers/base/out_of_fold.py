"""Out-of-fold predictions: each document is scored by a fit that did not see its query."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.members import learnt_member
from rankgrove.rankers.base.query_samples import fold_of_queries, places_of, query_sample
from rankgrove.rankers.base.uncertainty import as_grouped
from rankgrove.training.fit_evaluation import FitEvaluation


def out_of_fold_scores(
    make: Callable[[], BaseRanker], fit: Fit, n_folds: int
) -> npt.NDArray[np.float64]:
    """Return the scores of all documents of a fit, in grouped order.

    The queries are divided into parts at random; each part is scored by a ranker that is fitted to
    all others, with every step of it.
    """
    groups = fit.data.groups
    fold = fold_of_queries(groups.n_queries, n_folds, fit.seed)
    found = np.empty(groups.n_rows)
    for number in range(n_folds):
        ranker, unseen = make(), np.flatnonzero(fold == number)
        sample = query_sample(fit.data, np.flatnonzero(fold != number))
        part = query_sample(fit.data, unseen).groups
        assert part.order is not None
        model = learnt_member(ranker, fit, sample, FitEvaluation([], True, None))
        rows = fit.data.X.select_rows(part.order)
        found[places_of(unseen, groups)] = model.scores(rows, as_grouped(part), ranker.n_jobs)
    return found
