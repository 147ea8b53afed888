"""Simulated clicks on judged data: result lists, positions and clicks whose truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove._arguments import require_integer, require_number
from rankgrove.data.core.dataset import Dataset, require_dataset
from rankgrove.data.matrix.numbers import as_numbers
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

UserModel = Literal["pbm", "trust", "cascade", "dbn"]
_Floats = npt.NDArray[np.float64]


def simulate_clicks(
    data: Dataset,
    *,
    n_sessions: int,
    model: UserModel = "pbm",
    ranker: Any = None,
    top_k: int = 10,
    bias: float = 1.0,
    noise: float = 0.1,
    exploration: float = 0.0,
    seed: int = 0,
) -> pa.Table:
    r"""Show result lists of judged data to simulated users, and log their clicks.

    A document of grade :math:`y` attracts an examining user with probability
    :math:`r = \epsilon + (1 - \epsilon) (2^y - 1) / (2^{y_{max}} - 1)`, where :math:`\epsilon` is
    the ``noise``. Position :math:`k` is examined with probability :math:`\theta_k = k^{-\eta}`,
    with the ``bias`` :math:`\eta`.

    Parameters
    ----------
    data : judged documents
    n_sessions : number of result lists; their queries are drawn at random
    model : ``"pbm"``: a click with probability :math:`\theta_k r`; ``"trust"``: high positions are
        also trusted, a click with probability :math:`\theta_k ((1 - \beta_k) r + \beta_k)`,
        :math:`\beta_k = 0.65 / k`; ``"cascade"``: users read from the top and stop at the first
        click; ``"dbn"``: after a click they stop with probability :math:`r`, otherwise they go on
        with probability 0.9
    ranker : the ranking that is shown: a fitted ranker, or one score per row; None: a random order
        in each session
    top_k : length of the lists
    exploration : scale of Gumbel noise that is added to the scores, standardised within the
        query, in each session
    seed : seed of everything that is random

    Returns
    -------
    An Arrow table of impressions: query, document, position, clicked, session, propensity (the
    true :math:`\theta_k`, for ``pbm`` and ``trust``) and row (the row of ``data``).
    """
    import pyarrow as pa

    _check(data, n_sessions, model, top_k, bias, noise, exploration, seed)
    rng = np.random.default_rng(seed)
    scores = _scores(data, ranker)
    query = rng.integers(0, data.n_queries, n_sessions)
    rows, session, position = _lists(data, scores, query, top_k, exploration, rng)
    highest = max(data.y.max(), 1.0)
    gain = np.expm1(data.y[rows] * np.log(2)) / np.expm1(highest * np.log(2))
    attraction = noise + (1 - noise) * gain
    examination = position.astype(np.float64) ** -bias
    if model in ("pbm", "trust"):
        trust = 0.65 / position if model == "trust" else 0.0
        chance = examination * ((1 - trust) * attraction + trust)
        clicked = rng.random(len(rows)) < chance
    else:
        clicked = _read_from_top(attraction, session, position, model, rng)
    ids = data.doc_id_texts()
    documents = pa.array([f"row-{row}" for row in rows]) if ids is None else ids.take(rows)
    columns = {
        "query": pa.array(data.qid[rows].astype(str)).cast(pa.large_string()),
        "document": documents.cast(pa.large_string()),
        "position": pa.array(position, pa.int32()),
        "clicked": pa.array(clicked.astype(np.int8)),
        "session": pa.array(session.astype(str)).cast(pa.large_string()),
        "row": pa.array(rows),
    }
    if model in ("pbm", "trust"):
        columns["propensity"] = pa.array(examination)
    return pa.table(columns)


def _check(
    data: Dataset,
    n_sessions: int,
    model: str,
    top_k: int,
    bias: float,
    noise: float,
    exploration: float,
    seed: int,
) -> None:
    if model not in get_args(UserModel):
        raise ValueError(f"model must be one of {', '.join(get_args(UserModel))}, not {model!r}")
    require_dataset(data, "simulate_clicks")
    require_integer(n_sessions, "n_sessions", 1)
    require_integer(top_k, "top_k", 1)
    require_integer(seed, "seed", 0)
    for name, number in (("bias", bias), ("exploration", exploration)):
        finite = "a finite number of at least 0"
        require_number(number, name, finite, lambda x: 0 <= x < np.inf)
    require_number(noise, "noise", "between 0 and 1", lambda x: 0 <= x <= 1)
    if data.n_rows == 0 or data.y.min() < 0:
        raise DataError("clicks are simulated on judged documents with grades of at least 0")


def _scores(data: Dataset, ranker: Any) -> _Floats | None:
    if ranker is None:
        return None
    scores = ranker.predict(data) if hasattr(ranker, "predict") else as_numbers(ranker, "ranker")
    if scores.shape != (data.n_rows,):
        raise DataError(f"ranker has {scores.shape} scores, but there are {data.n_rows} rows")
    grouped = data.groups.grouped(scores)
    sizes, starts = data.groups.sizes, data.groups.offsets[:-1]
    mean = np.add.reduceat(grouped, starts) / sizes
    deviation = np.sqrt(np.add.reduceat((grouped - np.repeat(mean, sizes)) ** 2, starts) / sizes)
    scale = np.repeat(np.where(deviation > 0, deviation, 1), sizes)
    return np.asarray((grouped - np.repeat(mean, sizes)) / scale)


def _lists(
    data: Dataset,
    scores: _Floats | None,
    query: npt.NDArray[np.int64],
    top_k: int,
    exploration: float,
    rng: np.random.Generator,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows, sessions and positions (from 1) of all lists."""
    sizes = data.groups.sizes[query]
    session = np.repeat(np.arange(len(query)), sizes)
    within = np.arange(len(session)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = data.groups.offsets[:-1][query][session] + within
    shown = np.zeros(len(places)) if scores is None else scores[places]
    noise = exploration if scores is not None else 1.0
    if noise > 0:
        shown = shown + noise * rng.gumbel(size=len(places))
    order = np.lexsort((-shown, session))
    position = within + 1
    kept = position <= top_k
    places = places[order][kept]
    rows = places if data.groups.order is None else data.groups.order[places]
    return rows, session[kept], position[kept]


def _read_from_top(
    attraction: _Floats,
    session: npt.NDArray[np.int64],
    position: npt.NDArray[np.int64],
    model: str,
    rng: np.random.Generator,
) -> npt.NDArray[np.bool_]:
    """Let users read from the top, position by position in all sessions at once."""
    reads = np.ones(session[-1] + 1, bool)
    clicked = np.zeros(len(session), bool)
    for k in range(1, int(position.max()) + 1):
        rows = np.flatnonzero(position == k)
        click = reads[session[rows]] & (rng.random(len(rows)) < attraction[rows])
        clicked[rows] = click
        if model == "cascade":
            reads[session[rows[click]]] = False
        else:
            satisfied = click & (rng.random(len(rows)) < attraction[rows])
            gives_up = rng.random(len(rows)) >= 0.9
            reads[session[rows[satisfied | gives_up]]] = False
    return clicked
