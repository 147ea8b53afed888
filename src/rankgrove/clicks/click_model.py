"""Click models: estimates of relevance and examination from sessions.

A click model is one module with a function ``estimate(log, prior)`` and one line in ``MODELS``.
Probabilities have a Beta prior with ``prior`` pseudo-observations, half of them clicks: an estimate
is (successes + prior / 2) / (trials + prior).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgrove._arguments import require_integer, require_number
from rankgrove.clicks.click_log import ClickLog, Floats
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MODELS = {
    "ctr": "click-through rate of each document, whatever its position",
    "coec": "clicks over the clicks expected at its positions",
    "pbm": "position-based model: clicked if examined (by position) and attractive",
    "cascade": "cascade model: examined from the top to the first click",
    "dcm": "dependent click model: examined to the last click",
    "sdbn": "simplified dynamic Bayesian network: examined until a click satisfied, the last one",
    "dbn": "dynamic Bayesian network: a user stops when satisfied, or gives up",
    "ubm": "user browsing model: examined by position and distance to the last click",
}


@dataclass(frozen=True)
class ClickModelFit:
    """What a click model estimated.

    Attributes
    ----------
    model : name of the model
    relevance : one value per query-document pair, in [0, 1] but for COEC
    trials : number of impressions that informed each value (expected, where examination is hidden)
    parameters : other estimates by name: examination, continuation, satisfaction, ...
    log_likelihood : per iteration, for models that are estimated by EM
    log : the impressions
    """

    model: str
    relevance: Floats
    trials: Floats
    parameters: dict[str, Any]
    log: ClickLog
    log_likelihood: list[float] = field(default_factory=list)

    def row_relevance(self) -> Floats:
        """Return the relevance of each impression, in the order of the table of impressions."""
        values = np.empty(self.log.n_rows)
        values[self.log.rows] = self.relevance[self.log.pair]
        return values

    def judgments(self, *, min_impressions: int = 1) -> pa.Table:
        """Return a table of judgments: query, document, grade, weight, impressions, clicks.

        The grade is the relevance, the weight the number of trials divided by its mean. Pairs with
        fewer than ``min_impressions`` are left out; it is an error if none is left.
        """
        import pyarrow as pa

        impressions = np.bincount(self.log.pair, minlength=self.log.n_pairs)
        if impressions.max() < min_impressions:
            raise DataError(
                f"no query-document pair was shown min_impressions={min_impressions} times: the "
                f"most frequent one has {impressions.max():,} impressions"
            )
        table = pa.table(
            {
                "query": self.log.queries,
                "document": self.log.documents,
                "grade": self.relevance,
                "weight": self.trials / max(self.trials.mean(), 1e-12),
                "impressions": impressions,
                "clicks": self.log.sum_by_pair(self.log.clicked).astype(np.int64),
            }
        )
        return table.filter(pa.array(impressions >= min_impressions))


def fit_click_model(
    impressions: Any, model: str = "sdbn", *, prior: float = 2.0, max_iter: int = 100
) -> ClickModelFit:
    """Estimate a click model.

    Parameters
    ----------
    impressions : a LogTable of ``logs.read_impressions``, what it reads, or a ClickLog
    model : ctr, coec, pbm, cascade, dcm, sdbn, dbn or ubm
    prior : number of pseudo-observations of the Beta prior of each probability
    max_iter : largest number of iterations of EM (pbm, dbn, ubm); it stops earlier when no
        estimate changes by more than 1e-6
    """
    if not isinstance(model, str) or model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, not {model!r:.60}")
    require_number(prior, "prior", "at least 0", lambda x: x >= 0)
    require_integer(max_iter, "max_iter", 1)
    log = ClickLog.of(impressions)
    log.require_clicks()
    module = importlib.import_module(f"rankgrove.clicks.models.{model}")
    fit: ClickModelFit = module.estimate(log, prior, max_iter)
    return fit


def beta_mean(successes: Floats, trials: Floats, prior: float) -> Floats:
    """Return the mean of a Beta posterior; 1/2 where there is neither a trial nor a prior."""
    total = trials + prior
    return np.where(total > 0, (successes + prior / 2) / np.where(total > 0, total, 1), 0.5)
