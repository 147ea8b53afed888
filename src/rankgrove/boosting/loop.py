"""One step of gradient boosting, which every boosted ranker shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Objective
from rankgrove.boosting.sampling import RowSampler
from rankgrove.boosting.start import Start
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.trees.bin_cache import cached_codes
from rankgrove.trees.binning import BinnedMatrix, Bins
from rankgrove.trees.growing import Tree, TreeGrower, add_leaf_values, apply_binned

Floats = npt.NDArray[np.float64]

# Largest allowed absolute leaf value; beyond it float32 gradients overflow.
_LARGEST_VALUE = 1e36


@dataclass
class EvalOutputs:
    """Outputs of an evaluation set in grouped order, updated as trees are added."""

    binned: BinnedMatrix
    outputs: Floats

    @classmethod
    def of(cls, data: RankingInput, bins: Bins, start: Start, n_jobs: int | None) -> EvalOutputs:
        """Bin an evaluation set with the training bins, and set its initial outputs."""
        binned = cached_codes(data.X, bins, rows=data.groups.order, n_jobs=n_jobs)
        return cls(binned, start.scores(data, n_jobs))

    def add(self, trees: list[Tree], n_jobs: int | None) -> None:
        """Add the trees of one step, one per output."""
        for output, tree in enumerate(trees):
            leaves = apply_binned(tree, self.binned, n_jobs)
            add_leaf_values(self.outputs[output], leaves, tree.value, n_jobs)


@dataclass
class Boosting:
    """Adds one tree per output in each step.

    A step computes the gradients of the objective at the current outputs, grows the trees on them,
    sets their leaf values (Newton steps unless the objective has its own) and adds them to the
    outputs, shrunken by the learning rate.

    Attributes
    ----------
    outputs : of the training documents, (n_outputs, n_rows) in grouped order
    eval_outputs : outputs of evaluation sets, updated in every step
    trees : of each step so far, one per output
    """

    objective: Objective
    grower: TreeGrower
    sampler: RowSampler
    outputs: Floats
    learning_rate: float
    seed: int
    n_jobs: int | None
    eval_outputs: list[EvalOutputs] = field(default_factory=list)
    trees: list[list[Tree]] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = self.outputs.shape
        self._gradients = np.empty(shape, np.float32)
        self._hessians = None if self.objective.constant_hessian else np.empty(shape, np.float32)

    def replay(self, trees: list[list[Tree]]) -> None:
        """Add the trees of an earlier attempt as the first steps, with bit-identical outputs."""
        for grown in trees:
            if len(grown) != len(self.outputs):
                raise ModelError(
                    f"a record to resume from has {len(grown)} trees per step, not "
                    f"{len(self.outputs)}"
                )
            for output, tree in enumerate(grown):
                leaves = apply_binned(tree, self.grower.binned, self.n_jobs)
                add_leaf_values(self.outputs[output], leaves, tree.value, self.n_jobs)
            for eval_outputs in self.eval_outputs:
                eval_outputs.add(grown, self.n_jobs)
            self.trees.append(grown)

    def step(self) -> None:
        """Add the trees of one step."""
        objective, outputs, step = self.objective, self.outputs, len(self.trees)
        objective.gradients(outputs, self._gradients, self._hessians, step)
        rows = self.sampler.draw(step)
        old = outputs if len(outputs) == 1 else outputs.copy()
        grown = [self._grow(step, output, old, rows) for output in range(len(outputs))]
        for eval_outputs in self.eval_outputs:
            eval_outputs.add(grown, self.n_jobs)
        self.trees.append(grown)

    def _grow(self, step: int, output: int, old: Floats, rows: npt.NDArray[Any] | None) -> Tree:
        tree = self.grower.grow(
            self._gradients[output],
            None if self._hessians is None else self._hessians[output],
            rows=rows,
            seed=self.seed + step * len(old) + output,
        )
        leaf_of_row = self.grower.leaf_of_row
        values = self.objective.leaf_values(old, leaf_of_row, tree.n_nodes, output)
        answers = tree.value
        answers[:] = self.learning_rate * (answers if values is None else values)
        if not (np.abs(answers) < _LARGEST_VALUE).all():
            raise ValueError(
                f"in step {step + 1} scores grow beyond {_LARGEST_VALUE:g}: learning_rate="
                f"{self.learning_rate:g} is too large, or the labels are"
            )
        add_leaf_values(self.outputs[output], leaf_of_row, answers, self.n_jobs)
        return tree
