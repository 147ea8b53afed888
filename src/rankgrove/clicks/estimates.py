"""Off-policy evaluation: the expected clicks of another ranking, from the log of the shown one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove._arguments import require_number
from rankgrove.clicks.click_log import ClickLog, Floats
from rankgrove.clicks.propensities import Propensities
from rankgrove.data.matrix.numbers import as_numbers
from rankgrove.errors import DataError

Estimator = Literal["ips", "snips", "dr"]
_MIN_EFFECTIVE = 10.0


@dataclass(frozen=True)
class Estimate:
    """The estimated value of a policy, with an interval.

    Attributes
    ----------
    value : mean reward per session (or per row)
    low, high : interval of the asked confidence, by the normal approximation over sessions
    effective_size : (sum of weights)^2 / sum of squared weights, the number of rows that count
    clipped : share of the weights that were cut to ``clip``
    estimator : ips, snips or dr
    """

    value: float
    low: float
    high: float
    effective_size: float
    clipped: float
    estimator: str

    def __str__(self) -> str:
        return (
            f"{self.value:.5f} [{self.low:.5f}, {self.high:.5f}] ({self.estimator}, effective "
            f"sample size {self.effective_size:,.0f}, {self.clipped:.1%} of the weights clipped)"
        )


def estimate_value(
    rewards: npt.ArrayLike,
    weights: npt.ArrayLike,
    *,
    estimator: Estimator = "snips",
    predicted: npt.ArrayLike | None = None,
    predicted_new: npt.ArrayLike | None = None,
    session: npt.ArrayLike | None = None,
    clip: float | None = None,
    confidence: float = 0.95,
) -> Estimate:
    r"""Estimate the value of a new policy from rewards that another policy earned.

    With importance weights :math:`w_i = \pi_{new} / \pi_{log}` of the logged rows and n sessions:

    - ``ips``: :math:`\frac1n \sum_i w_i r_i`;
    - ``snips``: :math:`\frac{m}{n} \sum_i w_i r_i / \sum_i w_i` with m rows; the mean of the
      weights must be 1 in expectation, as it is where policies choose actions at random;
    - ``dr``: :math:`\frac1n \sum_i \hat r^{new}_i + w_i (r_i - \hat r_i)` with predictions
      :math:`\hat r` of a model.

    Parameters
    ----------
    rewards, weights : of each logged row
    estimator : ips (unbiased), snips (smaller variance, consistent), dr (doubly robust)
    predicted, predicted_new : a model's reward of each row as logged, and under the new policy;
        for ``dr`` alone
    session : number of the session of each row; rewards of a session add up. None: a row is one
    clip : largest weight; larger ones are cut to it, which biases the estimate downwards
    confidence : of the interval
    """
    from scipy.stats import norm

    if estimator not in get_args(Estimator):
        raise ValueError(f"estimator must be one of ips, snips, dr, not {estimator!r}")
    if (estimator == "dr") != (predicted is not None and predicted_new is not None):
        raise ValueError("predicted and predicted_new belong to estimator='dr', and it needs both")
    if clip is not None:
        require_number(clip, "clip", "above 0, or None", lambda x: x > 0)
    check_confidence(confidence)
    r, w = (_numbers(values, name) for values, name in ((rewards, "rewards"), (weights, "weights")))
    if len(r) != len(w) or not len(r):
        raise DataError(f"there are {len(r)} rewards and {len(w)} weights")
    if w.min() < 0:
        raise DataError(f"weights must be at least 0, not {w.min():g}")
    cut = w if clip is None else np.minimum(w, clip)
    n_effective = float(cut.sum() ** 2 / max((cut**2).sum(), 1e-300))
    if n_effective < _MIN_EFFECTIVE:
        raise DataError(
            f"the log does not support this policy: the effective sample size is {n_effective:.1f} "
            f"of {len(w)} rows, below {_MIN_EFFECTIVE:g}"
        )
    number = np.arange(len(r)) if session is None else _session_numbers(session, len(r))
    per_session, scale = _terms(r, cut, number, estimator, predicted, predicted_new)
    n = len(per_session)
    value = float(per_session.mean())
    deviation = per_session - (value * scale if estimator == "snips" else value)
    error = float(np.sqrt((deviation**2).sum() / max(n - 1, 1) / n))
    half = float(norm.ppf(0.5 + confidence / 2)) * error
    clipped = 0.0 if clip is None else float((w > clip).mean())
    return Estimate(value, value - half, value + half, n_effective, clipped, estimator)


def _terms(
    r: Floats,
    w: Floats,
    number: npt.NDArray[np.int64],
    estimator: str,
    predicted: Any,
    predicted_new: Any,
) -> tuple[Floats, Floats]:
    """Return the terms of sessions whose mean is the estimate, and their relative weights."""
    weight = np.asarray(np.bincount(number, w), np.float64)
    scale = weight / max(weight.mean(), 1e-300)
    rows = w * r
    if estimator == "snips":
        rows = rows * (len(r) / max(weight.sum(), 1e-300))
    elif estimator == "dr":
        own, new = (_numbers(values, "predictions") for values in (predicted, predicted_new))
        if not len(own) == len(new) == len(r):
            raise DataError(f"there are {len(r)} rewards, but {len(own)}, {len(new)} predictions")
        rows = new + w * (r - own)
    return np.asarray(np.bincount(number, rows), np.float64), scale


def estimate_clicks(
    impressions: Any,
    scores: npt.ArrayLike,
    propensities: Propensities,
    *,
    reward: Literal["clicks", "dcg"] = "clicks",
    estimator: Literal["ips", "dr"] = "ips",
    relevance: npt.ArrayLike | None = None,
    clip: float | None = None,
    confidence: float = 0.95,
) -> Estimate:
    r"""Estimate what the lists of a log would have earned in the order of other scores.

    The documents of each logged list are sorted anew, by ``scores``; documents that were not shown
    are out of reach of such an estimate. Documents of equal score share their positions: each has
    the mean of their :math:`v_j` (in the order in which they were shown, a constant score would
    earn the clicks of the shown ranking). Under the position-based model a document at logged
    position :math:`k` and new position :math:`j` has the weight :math:`v_j / \theta_k`, with
    :math:`v_j = \theta_j` for clicks per list and :math:`v_j = 1 / \log_2(1 + j)` for DCG of
    relevance.

    Parameters
    ----------
    impressions : the log
    scores : of the new ranker, one per impression in the order in which they were given
    propensities : examination by position
    relevance : of each impression by a click model (``ClickModelFit.row_relevance``), for
        ``estimator="dr"``
    """
    if estimator not in ("ips", "dr"):
        raise ValueError(
            f"estimator must be 'ips' or 'dr', not {estimator!r}: weights of positions have no "
            "mean of 1, by which snips divides"
        )
    if reward not in ("clicks", "dcg"):
        raise ValueError(f"reward must be 'clicks' or 'dcg', not {reward!r}")
    log = ClickLog.of(impressions)
    new = _numbers(scores, "scores")
    if len(new) != log.n_rows:
        raise DataError(f"there are {len(new)} scores, but the log has {log.n_rows} rows")
    new = new[log.rows]
    order = np.lexsort((log.position, -new, log.session))
    rank = np.empty(log.n_rows, np.int64)
    rank[order] = np.arange(log.n_rows) - log.offsets[:-1][log.session[order]]
    # The j-th best document takes the j-th position of the list.
    places = log.position[log.offsets[:-1][log.session] + rank]
    logged = propensities.of(log.position)
    value = propensities.of(places) if reward == "clicks" else 1 / np.log2(1 + places)
    value = _mean_of_ties(value[order], log.session[order], new[order])[np.argsort(order)]
    weights = value / logged
    predictions: dict[str, Any] = {}
    if estimator == "dr":
        r = _numbers([] if relevance is None else relevance, "relevance")
        if len(r) != log.n_rows:
            raise DataError(f"estimator='dr' needs one relevance per row: {len(r)} are given")
        r = r[log.rows]
        predictions = {"predicted": logged * r, "predicted_new": value * r}
    return estimate_value(
        log.clicked,
        weights,
        estimator=estimator,
        session=log.session,
        clip=clip,
        confidence=confidence,
        **predictions,
    )


def _mean_of_ties(values: Floats, session: npt.NDArray[Any], scores: Floats) -> Floats:
    """Replace values of documents of equal score in a list, in sorted order, by their mean."""
    is_first = np.r_[True, (session[1:] != session[:-1]) | (scores[1:] != scores[:-1])]
    tie = np.cumsum(is_first) - 1
    return np.asarray((np.bincount(tie, values) / np.bincount(tie))[tie])


def check_confidence(confidence: float) -> None:
    """Refuse what is no probability, such as a percentage."""
    words = "between 0 and 1, such as 0.95"
    require_number(confidence, "confidence", words, lambda x: 0 < x < 1)


def check_sessions(sessions: npt.NDArray[Any]) -> None:
    """Refuse ids of sessions that are missing, which would all be one session."""
    if sessions.dtype.kind not in "OfM":  # the others have no missing values
        return
    for row, one in enumerate(sessions.tolist()):
        if one is None or one != one:
            raise DataError(f"session of row {row} is missing: drop rows of unknown sessions")


def _numbers(values: npt.ArrayLike, name: str) -> Floats:
    array = as_numbers(values, name).astype(np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise DataError(f"{name} must be a list of finite numbers")
    return array


def _session_numbers(session: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int64]:
    values = np.asarray(session)
    if values.shape != (n_rows,):
        raise DataError(f"session has shape {values.shape}, but there are {n_rows} rows")
    check_sessions(values)
    ids, number = np.unique(values, return_inverse=True)
    if len(ids) < 2:
        raise DataError("an interval needs at least 2 sessions, not 1")
    return np.asarray(number, np.int64)
