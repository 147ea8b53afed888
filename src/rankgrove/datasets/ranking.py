"""Synthetic judgments of realistic shape, for trials, tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankgrove._arguments import require_integer, require_number
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.numbers import as_numbers
from rankgrove.datasets import synthetic, synthetic_features

_LETOR_STATISTICS = ("tf_sum", "idf", "tfidf_sum", "length", "bm25", "lm_abs", "lm_dir", "lm_jm")
_LETOR_LINKS = ("page_rank", "inlinks", "outlinks", "url_depth", "url_length", "child_pages")
_WEB_LINKS = tuple(name for name in synthetic_features.DOCUMENT_FEATURES if name != "child_pages")


@dataclass(frozen=True)
class _Shape:
    n_queries: int
    docs_per_query: float
    length_spread: float
    longest_query: int
    grade_shares: tuple[float, ...]
    n_features: int
    statistics: tuple[str, ...] = tuple(synthetic_features.STATISTICS)
    links: tuple[str, ...] = _WEB_LINKS
    normalisation: str = "none"
    noise: float = 1.0


_PRESETS = {
    "mslr": _Shape(
        n_queries=6000,
        docs_per_query=120,
        length_spread=0.55,
        longest_query=900,
        grade_shares=(0.52, 0.32, 0.13, 0.02, 0.01),
        n_features=136,
    ),
    "letor4": _Shape(
        n_queries=784,
        docs_per_query=19.4,
        length_spread=0.9,
        longest_query=121,
        grade_shares=(0.81, 0.13, 0.06),
        n_features=46,
        statistics=_LETOR_STATISTICS,
        links=_LETOR_LINKS,
        normalisation="query",
    ),
    "yahoo": _Shape(
        n_queries=2000,
        docs_per_query=24,
        length_spread=0.6,
        longest_query=139,
        grade_shares=(0.26, 0.36, 0.28, 0.08, 0.02),
        n_features=519,
        normalisation="quantile",
    ),
    None: _Shape(
        n_queries=100,
        docs_per_query=20,
        length_spread=0.5,
        longest_query=200,
        grade_shares=(0.5, 0.25, 0.15, 0.07, 0.03),
        n_features=20,
    ),
}


def make_ranking(
    n_queries: int | None = None,
    *,
    preset: str | None = None,
    docs_per_query: float | None = None,
    n_features: int | None = None,
    grade_shares: Sequence[float] | None = None,
    noise: float | None = None,
    missing: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Make a judged collection of a simulated search engine.

    Terms of each query are counted in the streams of each document (body, anchor, title, url), and
    the usual text-match features (TF, IDF, BM25, language models, ...) are computed from the
    counts; link, quality and click features are added. So features are zero-inflated, integer,
    heavy-tailed, correlated in blocks and in part constant within a query, and relevance depends
    on interactions of facts that the features only show with noise.

    Parameters
    ----------
    n_queries : number of queries; by default that of the preset
    preset : ``"mslr"`` (like MSLR-WEB10K: 6000 queries of about 120 documents, 136 features, five
        grades), ``"letor4"`` (like MQ2008: 784 short queries, 46 features scaled to 0..1 within
        each query, three grades), ``"yahoo"`` (like the Yahoo! challenge: 519 features replaced by
        their ranks, five grades), or None for a small plain collection
    docs_per_query : mean number of documents of a query
    n_features : number of features; a preset's features are thinned out, or streams are added
    grade_shares : share of the documents with grade 0, 1, ...; must add up to 1
    noise : standard deviation of the slips of the judges; 0 gives judgments without any, 1 is the
        presets' default
    missing : share of the entries of ``X`` that are blanked to NaN
    seed : the same seed gives the same collection

    Returns
    -------
    Dataset
        with ``X``, ``y``, ``qid`` and ``feature_names``

    Examples
    --------
    >>> from rankgrove.datasets import make_ranking
    >>> data = make_ranking(50, preset="letor4", seed=1)
    >>> data.n_queries, data.n_features
    (50, 46)
    """
    shape = _shape_of(preset, n_queries, docs_per_query, n_features, grade_shares, noise)
    require_number(missing, "missing", "at least 0 and below 1", lambda x: 0 <= x < 1)
    require_integer(seed, "seed", 0)
    rng = np.random.default_rng(seed)
    queries = synthetic.draw_queries(
        rng, shape.n_queries, shape.docs_per_query, shape.length_spread, shape.longest_query
    )
    documents = synthetic.draw_documents(rng, queries)
    utility = synthetic.draw_utility(rng, queries, documents, shape.noise)
    X, names = _features(rng, queries, documents, utility, shape)
    if missing:
        for column in X.T:
            column[rng.random(len(column), np.float32) < missing] = np.nan
    return Dataset(
        X=X,
        y=synthetic.grades_of(utility, np.asarray(shape.grade_shares)),
        qid=np.repeat(np.arange(1, shape.n_queries + 1), queries.sizes),
        feature_names=names,
        source=f"make_ranking(preset={preset!r}, seed={seed})",
    )


def _shape_of(
    preset: str | None,
    n_queries: int | None,
    docs_per_query: float | None,
    n_features: int | None,
    grade_shares: Sequence[float] | None,
    noise: float | None,
) -> _Shape:
    if not isinstance(preset, str | None) or preset not in _PRESETS:
        known = ", ".join(repr(name) for name in _PRESETS)
        raise ValueError(f"unknown preset {preset!r}: choose from {known}")
    shape = _PRESETS[preset]
    if n_queries is not None:
        require_integer(n_queries, "n_queries", 1)
        shape = replace(shape, n_queries=n_queries)
    if docs_per_query is not None:
        require_number(docs_per_query, "docs_per_query", "at least 1", lambda x: 1 <= x < np.inf)
        longest = max(shape.longest_query, int(8 * docs_per_query))
        shape = replace(shape, docs_per_query=docs_per_query, longest_query=longest)
    if n_features is not None:
        require_integer(n_features, "n_features", 1)
        shape = replace(shape, n_features=n_features)
    if grade_shares is not None:
        shares = as_numbers(grade_shares, "grade_shares").ravel()
        if (shares < 0).any() or not abs(shares.sum() - 1) < 1e-6:
            raise ValueError(f"grade_shares must be shares that add up to 1, not {grade_shares}")
        shape = replace(shape, grade_shares=tuple(grade_shares))
    if noise is not None:
        require_number(noise, "noise", "a finite number of at least 0", lambda x: 0 <= x < np.inf)
        shape = replace(shape, noise=noise)
    return shape


def _features(
    rng: np.random.Generator,
    queries: synthetic.Queries,
    documents: synthetic.WebDocuments,
    utility: synthetic.Floats,
    shape: _Shape,
) -> tuple[synthetic.Floats, list[str]]:
    """Fill the matrix column by column: text statistics of every stream, then link features."""
    n_statistics = len(shape.statistics)
    n_streams = max(5, -(-(shape.n_features - len(shape.links)) // n_statistics))
    streams = synthetic.draw_streams(rng, n_streams - 1)
    stream_names = [*(stream.name for stream in streams), "whole"]
    names = [f"{name}_{stream}" for name in shape.statistics for stream in stream_names]
    names += shape.links
    kept = np.linspace(0, len(names) - 1, shape.n_features).round().astype(np.int64)
    place = {names[position]: j for j, position in enumerate(kept)}
    X = np.empty((documents.n_rows, shape.n_features), np.float32)
    offsets = np.cumsum(queries.sizes) - queries.sizes

    def put(name: str, column: synthetic.Floats) -> None:
        if shape.normalisation == "query":
            column = synthetic_features.query_normalised(column, queries.sizes, offsets)
        elif shape.normalisation == "quantile":
            column = synthetic_features.quantile_normalised(column)
        X[:, place[name]] = column

    def put_statistics(stream: str, text: synthetic.StreamText) -> None:
        statistics = synthetic_features.StreamStatistics(documents, text)
        for name in shape.statistics:
            if f"{name}_{stream}" in place:
                put(f"{name}_{stream}", synthetic_features.STATISTICS[name](statistics))

    whole: synthetic.StreamText | None = None
    for stream in streams:
        text = synthetic.draw_text(rng, documents, stream)
        put_statistics(stream.name, text)
        whole = text if whole is None else synthetic.joined(whole, text)
    assert whole is not None
    put_statistics("whole", whole)
    for name in shape.links:
        if name in place:
            put(name, synthetic_features.DOCUMENT_FEATURES[name](rng, documents, utility))
    return X, [names[position] for position in kept]
