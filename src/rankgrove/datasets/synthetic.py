"""A simulated search engine: queries, documents, judgments, and the text that features count.

Vocabulary: a *stream* is a part of a document (body, anchor, title, url) in which query terms are
counted; a *hit* is one (document, query term) pair, and hits are stored flat, document by document.
Relevance is drawn from what a judge would see (topic, quality, intent of the query), and features
are drawn from the same latent facts through counting noise, so that no feature tells it outright.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """Distribution of query terms in one part (stream) of the documents."""

    name: str
    empty_share: float
    median_length: float
    length_spread: float
    rate: float
    topic_slope: float
    spread: float
    idf_factor: float = 1.0


STREAMS = (
    Stream("body", 0.04, 400.0, 0.9, 2.8, 0.45, 1.1),
    Stream("anchor", 0.76, 8.0, 1.0, 0.5, 0.4, 0.8, idf_factor=2.1),
    Stream("title", 0.03, 6.0, 0.5, 0.5, 0.35, 0.5, idf_factor=2.0),
    Stream("url", 0.0, 7.0, 0.4, 0.19, 0.4, 0.5, idf_factor=2.0),
)


@dataclass(frozen=True)
class Queries:
    """Latent properties of each query."""

    sizes: Ints
    n_terms: Ints
    idf: Floats  # of every term, query by query
    navigational: npt.NDArray[np.bool_]
    strictness: Floats


@dataclass(frozen=True)
class WebDocuments:
    """Latent properties of each judged document, and its share of the hits."""

    query: Ints
    topic: Floats
    quality: Floats
    popularity: Floats
    title_fit: Floats
    n_terms: Floats
    hit_offsets: Ints  # first hit of each document
    hit_idf: Floats

    @property
    def n_rows(self) -> int:
        """Number of documents."""
        return len(self.query)


@dataclass(frozen=True)
class StreamText:
    """Counts of the query terms in one stream."""

    tf: Floats  # one per hit
    length: Floats  # one per document
    idf_factor: float


def draw_queries(
    rng: np.random.Generator, n_queries: int, mean_length: float, spread: float, longest: int
) -> Queries:
    """Draw the queries: number of documents (log-normal), terms, intent, strictness of judges."""
    raw = rng.lognormal(np.log(mean_length) - spread**2 / 2, spread, n_queries)
    sizes = np.clip(np.rint(raw), 1, longest).astype(np.int64)
    n_terms = np.clip(1 + rng.poisson(1.4, n_queries), 1, 7).astype(np.int64)
    idf = rng.gamma(4.0, 1.3, int(n_terms.sum())).astype(np.float32) + np.float32(0.5)
    navigational = rng.random(n_queries) < np.where(n_terms <= 2, 0.45, 0.1)
    strictness = rng.standard_normal(n_queries, np.float32)
    return Queries(sizes, n_terms, idf, navigational, strictness)


def draw_documents(rng: np.random.Generator, queries: Queries) -> WebDocuments:
    """Draw the latent properties of all documents and lay out their hits."""
    query = np.repeat(np.arange(len(queries.sizes)), queries.sizes)
    n = len(query)
    topic = rng.standard_normal(n, np.float32)
    quality = rng.standard_normal(n, np.float32)
    popularity = np.float32(0.6) * quality + np.float32(0.8) * rng.standard_normal(n, np.float32)
    n_terms = queries.n_terms[query]
    hit_offsets = np.cumsum(n_terms) - n_terms
    first_term = (np.cumsum(queries.n_terms) - queries.n_terms)[query]
    term_of_hit = np.arange(int(n_terms.sum())) + np.repeat(first_term - hit_offsets, n_terms)
    return WebDocuments(
        query=query,
        topic=topic,
        quality=quality,
        popularity=popularity,
        title_fit=rng.standard_normal(n, np.float32),
        n_terms=n_terms.astype(np.float32),
        hit_offsets=hit_offsets,
        hit_idf=queries.idf[term_of_hit],
    )


def draw_streams(rng: np.random.Generator, n_streams: int) -> list[Stream]:
    """Return the usual streams of a web page, and random further ones if more are asked for."""
    further = [
        Stream(
            name=f"field{i}",
            empty_share=float(rng.uniform(0, 0.8)),
            median_length=float(np.exp(rng.uniform(1.5, 6))),
            length_spread=float(rng.uniform(0.4, 1)),
            rate=float(np.exp(rng.uniform(-1.5, 1.5))),
            topic_slope=float(rng.uniform(0.1, 0.7)),
            spread=float(rng.uniform(0.4, 1)),
            idf_factor=float(rng.uniform(1, 2.2)),
        )
        for i in range(1, n_streams - len(STREAMS) + 1)
    ]
    return [*STREAMS[:n_streams], *further]


def draw_text(rng: np.random.Generator, documents: WebDocuments, stream: Stream) -> StreamText:
    """Count the query terms in one stream of every document."""
    n = documents.n_rows
    fit = documents.title_fit if stream.name == "title" else rng.standard_normal(n, np.float32)
    relative = np.exp(np.float32(stream.length_spread) * rng.standard_normal(n, np.float32))
    filled = rng.random(n, np.float32) >= stream.empty_share
    length = np.maximum(np.rint(stream.median_length * relative), 1) * filled
    rate = stream.rate * np.exp(stream.topic_slope * documents.topic + stream.spread * fit)
    rate *= np.sqrt(relative) * filled
    hit_rate = np.repeat(rate, documents.n_terms.astype(np.int64))
    hit_rate *= np.exp(np.float32(-0.12) * documents.hit_idf) * np.float32(1.9)
    return StreamText(rng.poisson(hit_rate).astype(np.float32), length, stream.idf_factor)


def joined(first: StreamText, second: StreamText) -> StreamText:
    """Concatenate two streams, with the term statistics of the first."""
    return StreamText(first.tf + second.tf, first.length + second.length, first.idf_factor)


def draw_utility(
    rng: np.random.Generator,
    queries: Queries,
    documents: WebDocuments,
    noise: float,
) -> Floats:
    """Return the utility of each document to a judge.

    Topic and quality matter together, not one by one; who looks for a known site wants a popular
    site with a fitting title; spam is never useful; judges differ between queries and slip.
    """
    topic, quality = documents.topic, documents.quality
    wants_site = queries.navigational[documents.query]
    informational = topic + 0.8 * np.minimum(topic, quality) + 0.3 * np.tanh(2 * quality)
    navigational = 0.5 * topic + 0.7 * documents.title_fit + np.maximum(documents.popularity, -0.5)
    utility = np.where(wants_site, navigational, informational)
    utility -= np.where((quality < -1.2) & (documents.popularity < 0), np.float32(1.5), 0)
    utility += 0.5 * queries.strictness[documents.query]
    utility += np.float32(1.1 * noise) * rng.standard_normal(len(utility), np.float32)
    return utility.astype(np.float32)


def grades_of(utility: Floats, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cut utility into grades 0, 1, ... with the given shares of documents."""
    limits = np.quantile(utility, np.cumsum(shares)[:-1])
    return np.searchsorted(limits, utility, side="right").astype(np.float64)
