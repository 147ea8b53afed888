"""Interleaving: two rankings merged into one result list, and a test of users' preference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove._arguments import require_integer, require_number
from rankgrove.clicks.estimates import check_confidence, check_sessions
from rankgrove.data.matrix.numbers import as_numbers
from rankgrove.errors import DataError

Method = Literal["team-draft", "balanced"]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interleaved:
    """A merged result list.

    Attributes
    ----------
    documents : the documents in the order to show them
    credit : what a click on each of them adds to the preference for A over B
    """

    documents: list[str]
    credit: list[float]


def interleave(
    a: Sequence[str],
    b: Sequence[str],
    *,
    length: int = 10,
    method: Method = "team-draft",
    seed: int = 0,
    examination: Sequence[float] | None = None,
) -> Interleaved:
    r"""Merge two rankings of one query into a list of ``length`` documents.

    ``team-draft`` (Radlinski et al. 2008): in each round, a coin decides which ranker first adds
    its best document that is not in the list yet; a click credits its team, +1 or -1.

    ``balanced`` (Joachims 2002): a coin decides who begins, then the rankers take turns. A click on
    document d is credited so that the expected credit is the difference of the clicks that the
    first documents of the rankings would earn, each shown alone, under the position-based model:

    .. math:: \frac{\theta_{A(d)} - \theta_{B(d)}}
        {\tfrac12 (\theta_{M_A(d)} + \theta_{M_B(d)})}

    with the positions of d in A, in B, and in the two lists that the coin chooses between
    (:math:`\theta = 0` where d is not shown); crediting by team is biased here. A and B count as
    far down as all of their documents are in one of the two lists: to at least half of ``length``,
    and to all of it where both rank the same ``length`` documents. A document that is never shown
    earns no clicks, and counting those beside it would prefer one ranking. This debiased credit is
    derived here from the model; it is not taken from a paper.

    Parameters
    ----------
    a, b : document ids, best first
    length : number of documents to show
    seed : of the coin; use another for each session, such as a hash of its id
    examination : probability that each position is examined, for ``balanced``; by default 1 / k
    """
    if method not in get_args(Method):
        raise ValueError(f"method must be 'team-draft' or 'balanced', not {method!r}")
    require_integer(length, "length", 1)
    require_integer(seed, "seed", 0)
    for name, ranking in (("a", a), ("b", b)):
        if isinstance(ranking, str) or not isinstance(ranking, Sequence | np.ndarray):
            raise DataError(
                f"the ranking {name} must be a list of document ids, not {ranking!r:.60}"
            )
        if len(set(ranking)) < len(ranking):
            raise DataError(f"the ranking {name} lists a document twice")
    coin = np.random.default_rng(seed)
    if method == "team-draft":
        if examination is not None:
            raise ValueError("examination has no effect on team-draft interleaving")
        return _team_draft(a, b, length, coin)
    return _balanced(a, b, length, coin, examination)


def _team_draft(
    a: Sequence[str], b: Sequence[str], length: int, coin: np.random.Generator
) -> Interleaved:
    shown: dict[str, float] = {}
    while len(shown) < length:
        before = len(shown)
        teams = [(a, 1.0), (b, -1.0)]
        if coin.random() < 0.5:
            teams.reverse()
        for ranking, credit in teams:
            best = next((document for document in ranking if document not in shown), None)
            if best is not None and len(shown) < length:
                shown[best] = credit
        if len(shown) == before:
            break
    return Interleaved(list(shown), list(shown.values()))


def _merged(first: Sequence[str], second: Sequence[str], length: int) -> list[str]:
    """Take turns, from the first ranking on; documents that were taken already are skipped."""
    shown: dict[str, None] = {}
    for i in range(max(len(first), len(second))):
        for ranking in (first, second):
            if i < len(ranking) and len(shown) < length:
                shown.setdefault(ranking[i])
    return list(shown)


def _balanced(
    a: Sequence[str],
    b: Sequence[str],
    length: int,
    coin: np.random.Generator,
    examination: Sequence[float] | None,
) -> Interleaved:
    theta = [1 / k for k in range(1, length + 1)] if examination is None else list(examination)
    if len(theta) < length or not all(0 < value <= 1 for value in theta):
        raise ValueError(f"examination must hold {length} numbers above 0 and at most 1")
    lists = (_merged(a, b, length), _merged(b, a, length))
    merged = [dict(zip(ranking, theta, strict=False)) for ranking in lists]
    depth = 0  # documents at or above it in A or B are all in one of the two lists, or both
    while depth < length and all(
        document in merged[0] or document in merged[1]
        for document in (*a[depth : depth + 1], *b[depth : depth + 1])
    ):
        depth += 1
    seen = [dict(zip(ranking, theta[:depth], strict=False)) for ranking in (a, b)]
    documents = lists[int(coin.random() < 0.5)]
    credit = [
        (seen[0].get(d, 0.0) - seen[1].get(d, 0.0))
        / (0.5 * (merged[0].get(d, 0.0) + merged[1].get(d, 0.0)))
        for d in documents
    ]
    return Interleaved(documents, credit)


@dataclass(frozen=True)
class Preference:
    """The outcome of an interleaving experiment.

    Attributes
    ----------
    mean : mean credit per session: above 0, users prefer A
    low, high : its confidence interval
    p_value : two-sided, of the paired t-test over sessions against 0
    n_sessions : sessions, those without a click included
    wins, losses : sessions whose credit is above and below 0
    """

    mean: float
    low: float
    high: float
    p_value: float
    n_sessions: int
    wins: int
    losses: int

    def __str__(self) -> str:
        which = "A" if self.mean > 0 else "B"
        real = f"{which} is preferred" if self.p_value < 0.05 else "no difference shown"
        return (
            f"{self.mean:+.5f} [{self.low:+.5f}, {self.high:+.5f}] per session, p = "
            f"{self.p_value:.4f}: {real} ({self.n_sessions:,} sessions, A ahead in {self.wins:,}, "
            f"B in {self.losses:,})"
        )


def analyse_interleaving(
    session: npt.ArrayLike, credit: npt.ArrayLike, *, confidence: float = 0.95
) -> Preference:
    """Analyse a log of interleaved lists: one row per shown document.

    Parameters
    ----------
    session : id of the session of each row
    credit : credit of the document (of ``Interleaved``) if it was clicked, else 0
    """
    from scipy import stats

    check_confidence(confidence)
    sessions, values = np.asarray(session), as_numbers(credit, "credit").astype(np.float64)
    if values.ndim != 1 or values.shape != sessions.shape:
        raise DataError(
            "session and credit must be lists of the same length: they have the shapes "
            f"{sessions.shape} and {values.shape}"
        )
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        raise DataError(f"credit of row {row} is {values[row]}: it must be a finite number")
    check_sessions(sessions)
    ids, number = np.unique(sessions, return_inverse=True)
    n = len(ids)
    if n < 2:
        raise DataError(f"an experiment needs at least 2 sessions, not {n}")
    sums: Any = np.bincount(number, values)
    mean, deviation = float(sums.mean()), float(sums.std(ddof=1))
    error = deviation / math.sqrt(n)
    half = float(stats.t.ppf(0.5 + confidence / 2, n - 1)) * error
    p_value = 1.0 if error == 0 else float(2 * stats.t.sf(abs(mean) / error, n - 1))
    if error == 0 and mean != 0:
        p_value = 0.0
    wins, losses = int((sums > 0).sum()), int((sums < 0).sum())
    return Preference(mean, mean - half, mean + half, p_value, n, wins, losses)


def sessions_needed(
    difference: float, deviation: float, *, power: float = 0.8, significance: float = 0.05
) -> int:
    r"""Return how many sessions show a difference of mean credits with the given power.

    :math:`n = ((z_{1 - \alpha / 2} + z_{power}) \, \sigma / \delta)^2`, rounded up.

    Parameters
    ----------
    difference : mean credit per session to be found
    deviation : standard deviation of the credit of a session, from a pilot
    """
    from scipy.stats import norm

    other = "a number other than 0"
    require_number(difference, "difference", other, lambda x: bool(x) and math.isfinite(x))
    above = "a finite number above 0"
    require_number(deviation, "deviation", above, lambda x: 0 < x < math.inf)
    for name, share in (("power", power), ("significance", significance)):
        require_number(share, name, "between 0 and 1", lambda x: 0 < x < 1)
    z = float(norm.ppf(1 - significance / 2) + norm.ppf(power))
    return math.ceil((z * deviation / difference) ** 2)
