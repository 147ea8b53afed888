"""Selection of hard negatives: an objective on the relevant documents and the best-scored others.

(Lucchese, Nardini, Perego, Orlando and Trani, "Selective Gradient Boosting for Effective Learning
to Rank", 2018.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.boosting.sampling import Rows, TreeSampler
from rankgrove.workers.row_shard import RowShard


class HardNegatives(Objective):
    """The loss of shorter lists: all relevant documents and the negatives that are scored best.

    The first ``rounds`` iterations see everything. Then, every ``rounds`` iterations, each query
    keeps its documents with a label above 0 and the part ``share`` (rounded up) of the others that
    has the highest scores, ties in the order of the data. The loss is that of the lists that are
    left; other documents have no gradient.

    Parameters
    ----------
    data : all training data
    make : builds the objective of some of the data
    share : part of each query's negatives that is kept
    rounds : iterations from one selection to the next

    Attributes
    ----------
    rows : the documents that were selected last, ascending
    """

    def __init__(
        self,
        data: TrainingData,
        make: Callable[[TrainingData], Objective],
        share: float,
        rounds: int,
    ) -> None:
        self.data = data
        self.share, self.rounds = share, rounds
        self._make = make
        self._whole = make(data)
        self._selected = self._whole
        self.rows = np.arange(data.n_documents, dtype=np.int32)
        self.n_outputs = self._whole.n_outputs
        self.constant_hessian = self._whole.constant_hessian
        self.sets_leaf_values = self._whole.sets_leaf_values
        self.link = self._whole.link

    def base_score(self) -> Floats:
        """Return the initial score of the whole objective."""
        return self._whole.base_score()

    def prepare(self, scores: Floats, iteration: int) -> None:
        """Select documents again every ``rounds`` iterations."""
        if iteration > 0 and iteration % self.rounds == 0:
            self._select(self.link.apply(scores, self.data.n_threads))

    def _select(self, scores: Floats) -> None:
        data = self.data
        negative = np.flatnonzero(data.y <= 0)
        query = data.query_of_document()
        order = negative[np.lexsort((-scores[negative], query[negative]))]
        counts = np.bincount(query[negative], minlength=data.n_queries)
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = np.ceil(self.share * counts).astype(np.int64)
        chosen = data.y > 0
        chosen[order[place < np.repeat(kept, counts)]] = True
        self.rows = np.flatnonzero(chosen).astype(np.int32)
        offsets = np.r_[0, np.cumsum(np.bincount(query[self.rows], minlength=data.n_queries))]
        self._selected = self._make(
            replace(
                data,
                y=data.y[self.rows],
                offsets=offsets.astype(np.int64),
                weight=None if data.weight is None else data.weight[self.rows],
                shard=RowShard.of(offsets, data.shard.communicator),
            )
        )

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians of the selected documents; those of others are 0."""
        part = np.zeros((self.n_outputs, len(self.rows)), np.float32)
        curvature = None if hessians is None else np.zeros_like(part)
        chosen = np.ascontiguousarray(scores[:, self.rows])
        self._selected.gradients(chosen, part, curvature, iteration)
        gradients[:] = 0
        gradients[:, self.rows] = part
        if hessians is not None:
            hessians[:] = 0
            hessians[:, self.rows] = curvature

    def leaf_values(
        self, scores: Floats, leaf_of_row: npt.NDArray[np.int32], n_nodes: int, output: int
    ) -> Floats | None:
        """Return the leaf values of the objective of the selected documents."""
        return self._selected.leaf_values(
            np.ascontiguousarray(scores[:, self.rows]), leaf_of_row[self.rows], n_nodes, output
        )


@dataclass(frozen=True)
class SelectedRows(TreeSampler):
    """The documents that were selected last.

    Attributes
    ----------
    objective : selects them
    """

    objective: HardNegatives

    @property
    def weighs(self) -> bool:
        """Documents are selected or not."""
        return False

    def draw(self, iteration: int, gradients: Floats32, hessians: Floats32 | None) -> Rows | None:
        """Return the selected rows."""
        return self.objective.rows
