"""The interface of objectives, and the training data that they get.

Vocabulary: a *document* is one row; the documents of a query stand together (grouped order), those
of query q at ``offsets[q]:offsets[q + 1]``. A *gradient* is dLoss/dscore, so that a leaf's Newton
value is ``-sum(gradient) / (sum(hessian) + l2)``.

Weights: every objective multiplies a document's gradient and Hessian by the document's weight. With
one weight per query this is the weight of the query in the loss, and weight 2 equals the query
listed twice; objectives over pairs and lists are meant to be weighted like that. Weights that vary
inside a query scale what each document learns from its list, not its role in the lists of others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.trees.links import IDENTITY, Link
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TrainingData:
    """The training data of an objective, in grouped order.

    Attributes
    ----------
    y : labels, one per document
    offsets : n_queries + 1 positions, starting at 0 and ending at the number of documents
    weight : weights >= 0, one per document, or None for all ones
    n_threads : threads of the kernels; results do not depend on it
    seed : seed of objectives that draw random numbers
    query_ids : the caller's ids of the queries, for messages
    shard : position of these documents among those of all workers; by default they are all
    """

    y: Floats
    offsets: npt.NDArray[np.int64]
    weight: Floats | None = None
    n_threads: int = 1
    seed: int = 0
    query_ids: npt.NDArray[Any] | None = None
    shard: RowShard = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.shard is None:
            object.__setattr__(self, "shard", RowShard.of(self.offsets))

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.y)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.offsets) - 1

    def query_name(self, query: int) -> str:
        """Return the id of a query by its index."""
        return str(query if self.query_ids is None else self.query_ids[query])

    def query_of_document(self) -> npt.NDArray[np.int64]:
        """Index of the query of each document."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.offsets))


class Objective(ABC):
    """Base class of objectives: a loss over ranked lists with its gradients.

    Life: 1. built once per fit from the training data. 2. ``base_score`` starts the scores (unless
    an init model does). 3. Each iteration calls ``prepare`` and ``gradients`` once, then grows one
    tree per output. 4. After a tree is grown, ``leaf_values`` may replace the engine's Newton
    values. 5. The ``link``, which turns the outputs into one score per document, becomes part of
    the model.

    Outputs, gradients and Hessians have the shape (n_outputs, n_documents); most objectives have
    one output and read row 0.

    Attributes
    ----------
    n_outputs : trees per iteration
    constant_hessian : if True, Hessians are all 1: ``hessians`` is None and never filled
    sets_leaf_values : whether ``leaf_values`` returns values instead of None
    link : from outputs to the score
    """

    n_outputs: int = 1
    constant_hessian: bool = False
    sets_leaf_values: bool = False
    link: Link = IDENTITY

    def base_score(self) -> Floats:
        """Return the initial score of all documents, one per output."""
        return np.zeros(self.n_outputs)

    def prepare(self, scores: Floats, iteration: int) -> None:  # noqa: B027 - most need none
        """Look at the scores before an iteration, also before one that is taken from a record."""

    @abstractmethod
    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians at the current scores, all (n_outputs, n_documents)."""

    def leaf_values(
        self, scores: Floats, leaf_of_row: npt.NDArray[np.int32], n_nodes: int, output: int
    ) -> Floats | None:
        """Return the values of the nodes of a grown tree, or None for Newton steps.

        ``leaf_of_row`` holds the node of each document (-1: in no leaf); ``scores`` are those that
        ``gradients`` saw last. Entries of nodes that are not leaves are 0.
        """
        return None
