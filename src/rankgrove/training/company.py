"""With whom a fit is done: alone, or with other workers that each have a part of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankgrove.data.matrix.conversion import is_dataset
from rankgrove.data.ranking_input import RankingInput, ranking_input, refuse_vanishing_weights
from rankgrove.data.scanning.scan import Scan
from rankgrove.data.share import Share
from rankgrove.errors import DataError
from rankgrove.training.journal import Journal
from rankgrove.training.watch import Given

if TYPE_CHECKING:
    from rankgrove.distributed.communicator import Communicator


@dataclass
class Company:
    """The workers of a fit, and the records that it goes on from.

    Attributes
    ----------
    communicator : to the other workers; None: there are none
    journal : records of steps
    """

    communicator: Communicator | None = None
    journal: Journal = field(default_factory=Journal)

    def input_of(self, given: Given) -> tuple[RankingInput, Share]:
        """Check the data of this worker; return them, and which part of all they are."""
        weight = given.sample_weight
        if isinstance(given.X, Scan) and weight is not None:
            raise DataError("fit: a scan brings its weights: name their column, weight=")
        if weight is None and (is_dataset(given.X) or isinstance(given.X, Scan)):
            weight = given.X.sample_weight
        data = ranking_input(
            given.X,
            given.y,
            qid=given.qid,
            group_sizes=given.group_sizes,
            sample_weight=weight,
            may_be_empty=self.communicator is not None,
        )
        share = Share.of(data.groups.offsets, self.communicator)
        if share.n_rows == 0:
            raise DataError("fit: there are no rows, or their sample_weight is 0 in all of them")
        # Every worker asks, with or without weights.
        weights = np.ones(1) if data.weight is None else data.weight
        refuse_vanishing_weights(share.maximum(weights, 0.0))
        return data, share

    def seed(self, drawn: int) -> int:
        """Return the seed of the fit: that of an earlier attempt, or what the first worker drew."""
        own = drawn if self.journal.seed is None else self.journal.seed
        if self.communicator is None:
            return own
        return int(self.communicator.broadcast(str(own).encode()))
