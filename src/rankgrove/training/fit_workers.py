"""The workers of a fit (one, or several connected by a communicator) and its resume journal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.input_checks import ranking_input, refuse_vanishing_weights
from rankgrove.data.scanning.scan import Scan
from rankgrove.errors import DataError
from rankgrove.training.journal import Journal
from rankgrove.workers.communicator import Communicator
from rankgrove.workers.row_shard import RowShard


@dataclass
class FitWorkers:
    """The workers of a fit, and the records from which it resumes.

    Attributes
    ----------
    communicator : connects the workers; None: there is only one
    journal : records of finished steps
    """

    communicator: Communicator | None = None
    journal: Journal = field(default_factory=Journal)

    def checked_input(self, given: FitData) -> tuple[RankingInput, RowShard]:
        """Check this worker's data; return them and their position among those of all workers."""
        weight = given.sample_weight
        clicks = {"position": given.position, "propensity": given.propensity}
        if isinstance(given.X, Scan):
            for name, values in {"weight": weight, **clicks}.items():
                if values is not None:
                    raise DataError(f"fit: a scan brings its {name}: name its column, {name}=")
            weight = given.X.sample_weight
        if isinstance(given.X, Dataset):
            weight = given.X.sample_weight if weight is None else weight
            clicks = {
                name: getattr(given.X, name) if values is None else values
                for name, values in clicks.items()
            }
        data = ranking_input(
            given.X,
            given.y,
            qid=given.qid,
            group_sizes=given.group_sizes,
            sample_weight=weight,
            **clicks,
            may_be_empty=self.communicator is not None,
        )
        shard = RowShard.of(data.groups.offsets, self.communicator)
        if shard.n_rows == 0:
            raise DataError("fit: there are no rows, or their sample_weight is 0 in all of them")
        # A collective call: every worker makes it, with or without weights.
        weights = np.ones(1) if data.weight is None else data.weight
        refuse_vanishing_weights(shard.maximum(weights, 0.0))
        return data, shard

    def seed(self, drawn: int) -> int:
        """Return the seed of the fit: that of the resumed attempt, or the one worker 0 drew."""
        own = drawn if self.journal.seed is None else self.journal.seed
        if self.communicator is None:
            return own
        return int(self.communicator.broadcast(str(own).encode()))
