"""Feature columns of the simulated search engine, each computed for all documents at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from rankgrove.datasets.synthetic import Floats, Ints, StreamText, WebDocuments


class StreamStatistics:
    """Text-match statistics of one stream; sums over the query terms of each document."""

    def __init__(self, documents: WebDocuments, text: StreamText):
        self.documents = documents
        self.text = text

    @cached_property
    def hit_length(self) -> Floats:
        """Length of the stream, per hit."""
        length: Floats = np.maximum(self.text.length, 1)
        return np.repeat(length, self.documents.n_terms.astype(np.int64))

    @cached_property
    def idf(self) -> Floats:
        """Inverse document frequency in this stream, per hit."""
        result: Floats = self.documents.hit_idf * np.float32(self.text.idf_factor)
        return result

    def hits(self, kind: str) -> Floats:
        """Return term frequencies: raw (tf), divided by length (normalised) or times idf."""
        if kind == "normalised":
            return self.text.tf / self.hit_length
        return self.text.tf if kind == "tf" else self.text.tf * self.idf

    def total(self, hits: Floats) -> Floats:
        """Sum over the terms of each document."""
        return np.add.reduceat(hits, self.documents.hit_offsets)

    def covered(self) -> Floats:
        """Count the query terms that occur."""
        return self.total((self.text.tf > 0).astype(np.float32))

    def covered_ratio(self) -> Floats:
        """Return the share of the query terms that occur."""
        return self.covered() / self.documents.n_terms

    def length(self) -> Floats:
        """Return the number of words of the stream."""
        return self.text.length

    def idf_sum(self) -> Floats:
        """Sum of inverse document frequencies: the same for all documents of a query."""
        return self.total(self.idf)

    def summary(self, kind: str, function: str) -> Floats:
        """Sum, min, max, mean or variance of term frequencies."""
        hits = self.hits(kind)
        if function == "min":
            return np.minimum.reduceat(hits, self.documents.hit_offsets)
        if function == "max":
            return np.maximum.reduceat(hits, self.documents.hit_offsets)
        total = self.total(hits)
        if function == "sum":
            return total
        mean = total / self.documents.n_terms
        if function == "mean":
            return mean
        squares = self.total(hits * hits) / self.documents.n_terms
        variance: Floats = np.maximum(squares - mean * mean, 0)
        return variance

    def boolean(self) -> Floats:
        """Return 1 if every query term occurs."""
        return (self.summary("tf", "min") > 0).astype(np.float32)

    def cosine(self) -> Floats:
        """Vector space model: the angle between query and document."""
        weights = self.hits("tfidf")
        length: Floats = np.sqrt(self.total(weights * weights) * self.total(self.idf * self.idf))
        result: Floats = self.total(weights * self.idf) / length.clip(np.float32(1e-9))
        return result

    def bm25(self) -> Floats:
        """BM25 with k1 = 1.2 and b = 0.75."""
        ratio = self.hit_length / np.float32(max(self.text.length.mean(), 1))
        tf = self.text.tf
        saturation: Floats = tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * ratio))
        return self.total(self.idf * saturation)

    def language_model(self, smoothing: str) -> Floats:
        """Log-likelihood of the query under absolute, Dirichlet or Jelinek-Mercer smoothing."""
        background = np.exp(-self.idf)
        tf, length = self.text.tf, self.hit_length
        if smoothing == "abs":
            likelihood = np.maximum(tf - 0.7, 0) / length + np.float32(0.1) * background
        elif smoothing == "dir":
            likelihood = (tf + 20 * background) / (length + 20)
        else:
            likelihood = np.float32(0.8) * tf / length + np.float32(0.2) * background
        return self.total(np.log(likelihood))


Statistic = Callable[[StreamStatistics], Floats]


def _summary(kind: str, function: str) -> Statistic:
    return lambda stream: stream.summary(kind, function)


def _language_model(smoothing: str) -> Statistic:
    return lambda stream: stream.language_model(smoothing)


STATISTICS: dict[str, Statistic] = {
    "covered_terms": StreamStatistics.covered,
    "covered_ratio": StreamStatistics.covered_ratio,
    "length": StreamStatistics.length,
    "idf": StreamStatistics.idf_sum,
    **{
        f"{kind}_{function}": _summary(kind, function)
        for kind in ("tf", "normalised", "tfidf")
        for function in ("sum", "min", "max", "mean", "variance")
    },
    "boolean": StreamStatistics.boolean,
    "cosine": StreamStatistics.cosine,
    "bm25": StreamStatistics.bm25,
    **{f"lm_{smoothing}": _language_model(smoothing) for smoothing in ("abs", "dir", "jm")},
}

DocumentFeature = Callable[[np.random.Generator, WebDocuments, Floats], Floats]


def _normal(rng: np.random.Generator, documents: WebDocuments) -> Floats:
    return rng.standard_normal(documents.n_rows, np.float32)


def _url_depth(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    depth = rng.poisson(np.exp(0.9 - 0.25 * documents.popularity))
    result: Floats = (1 + depth).astype(np.float32)
    return result


def _url_length(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    return np.rint(np.exp(3.7 - 0.1 * documents.popularity + 0.35 * _normal(rng, documents)))


def _inlinks(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    return np.floor(np.exp(1.2 + 1.5 * documents.popularity + 1.8 * _normal(rng, documents)))


def _outlinks(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    result: Floats = np.floor(np.exp(0.2 + 1.2 * _normal(rng, documents)))
    return result


def _child_pages(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    children = np.floor(np.exp(1.0 + 0.4 * documents.popularity + 1.5 * _normal(rng, documents)))
    return np.where(rng.random(documents.n_rows) < 0.4, children, 0)


def _page_rank(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    value = documents.popularity + 1.2 * _normal(rng, documents)
    return np.floor(65535 / (1 + np.exp(1.2 - value)))


def _site_rank(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    value = documents.popularity + 0.6 * _normal(rng, documents)
    return np.floor(65535 / (1 + np.exp(-value)))


def _quality(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    value = np.exp(2.0 - 0.9 * documents.quality + 0.8 * _normal(rng, documents))
    return np.minimum(np.floor(value), 255)


def _query_clicks(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    shown = rng.random(documents.n_rows) < 1 / (1 + np.exp(4.0 - 0.4 * utility))
    return np.where(shown, np.ceil(np.exp(1.5 + 1.5 * _normal(rng, documents))), 0)


def _clicks(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    known = rng.random(documents.n_rows) < 1 / (1 + np.exp(1.5 - 1.2 * documents.popularity))
    return np.where(known, np.ceil(np.exp(2.0 + 1.8 * _normal(rng, documents))), 0)


def _dwell_time(rng: np.random.Generator, documents: WebDocuments, utility: Floats) -> Floats:
    known = rng.random(documents.n_rows) < 1 / (1 + np.exp(1.5 - 1.2 * documents.popularity))
    seconds = np.exp(3.5 + 0.5 * documents.quality + _normal(rng, documents))
    return np.where(known, seconds, 0)


DOCUMENT_FEATURES: dict[str, DocumentFeature] = {
    "url_depth": _url_depth,
    "url_length": _url_length,
    "inlinks": _inlinks,
    "outlinks": _outlinks,
    "page_rank": _page_rank,
    "site_rank": _site_rank,
    "quality": _quality,
    "quality2": _quality,
    "query_clicks": _query_clicks,
    "clicks": _clicks,
    "dwell_time": _dwell_time,
    "child_pages": _child_pages,
}


def query_normalised(column: Floats, sizes: Ints, offsets: Ints) -> Floats:
    """Scale a column to 0..1 within each query, as LETOR does; a constant becomes 0."""
    low: Floats = np.minimum.reduceat(column, offsets)
    span: Floats = np.maximum.reduceat(column, offsets) - low
    scale = np.divide(1, span, out=np.zeros_like(span), where=span > 0)
    result: Floats = (column - np.repeat(low, sizes)) * np.repeat(scale, sizes)
    return result


def quantile_normalised(column: Floats) -> Floats:
    """Replace values by their approximate rank in 0..1, as Yahoo did; the least becomes 0."""
    knots = np.unique(np.quantile(column, np.linspace(0, 1, 513)))
    return np.interp(column, knots, np.linspace(0, 1, len(knots))).astype(np.float32)
