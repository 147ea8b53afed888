"""Random judged rankings with ties, empty queries and short queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Case:
    y: np.ndarray
    scores: np.ndarray
    sizes: np.ndarray
    qid: np.ndarray
    doc_ids: np.ndarray

    def queries(self):
        """Labels and scores, query by query."""
        ends = np.cumsum(self.sizes)
        return zip(np.split(self.y, ends)[:-1], np.split(self.scores, ends)[:-1], strict=True)


def random_case(seed, *, n_queries=60, max_grade=4, ties=True, shortest=1, longest=13):
    """Every seventh query is empty; scores are exact in float32."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(shortest, longest + 1, n_queries)
    n = int(sizes.sum())
    qid = np.repeat(np.arange(n_queries), sizes)
    y = rng.integers(0, max_grade + 1, n).astype(float)
    y[qid % 7 == 3] = 0
    scores = rng.integers(0, 6, n) / 8 if ties else rng.permutation(n) / 1024
    doc_ids = np.array([f"doc{i}" for i in rng.permutation(n)])
    return Case(y, scores, sizes, qid, doc_ids)
