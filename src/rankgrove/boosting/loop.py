"""One step of gradient boosting, which every boosted ranker shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.dropout import TreeDropout
from rankgrove.boosting.objectives.base import Objective
from rankgrove.boosting.sampling import TreeSampler
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
class BinnedOutputs:
    """Outputs of a data set in grouped order, updated as trees are added.

    Attributes
    ----------
    outputs : (n_outputs, n_rows)
    """

    binned: BinnedMatrix
    outputs: Floats

    @classmethod
    def of(cls, data: RankingInput, bins: Bins, start: Start, n_jobs: int | None) -> BinnedOutputs:
        """Bin an evaluation set with the training bins, and set its initial outputs."""
        binned = cached_codes(data.X, bins, rows=data.groups.order, n_jobs=n_jobs)
        return cls(binned, start.scores(data, n_jobs))

    def add(self, trees: list[Tree], n_jobs: int | None) -> None:
        """Add the trees of one step, one per output."""
        for output, tree in enumerate(trees):
            leaves = apply_binned(tree, self.binned, n_jobs)
            add_leaf_values(self.outputs[output], leaves, tree.value, n_jobs)

    def part_of(self, steps: list[list[Tree]], weights: list[float], n_jobs: int | None) -> Floats:
        """Return what the trees of some steps, times their weights, add to the outputs."""
        part = np.zeros_like(self.outputs)
        for trees, weight in zip(steps, weights, strict=True):
            for output, tree in enumerate(trees):
                leaves = apply_binned(tree, self.binned, n_jobs)
                add_leaf_values(part[output], leaves, weight * tree.value, n_jobs)
        return part


@dataclass
class Boosting:
    """Adds one tree per output in each step.

    A step computes the gradients of the objective at the current outputs, grows the trees on them,
    sets their leaf values (Newton steps unless the objective has its own) and adds them to the
    outputs, shrunken by the learning rate.

    With dropout, k earlier steps are left out of these outputs. The new trees are then divided by
    k + 1, and the trees of the k steps are multiplied by k / (k + 1) (DART).

    Attributes
    ----------
    outputs : of the training documents, (n_outputs, n_rows) in grouped order
    random_strength : noise on the scores of splits in the first step
    dropout : the steps that are left out; None: none
    eval_outputs : outputs of evaluation sets, updated in every step
    trees : of each step so far, one per output, as they were when they were added
    """

    objective: Objective
    grower: TreeGrower
    sampler: TreeSampler
    outputs: Floats
    learning_rate: float
    seed: int
    n_jobs: int | None
    random_strength: float = 0.0
    dropout: TreeDropout | None = None
    eval_outputs: list[BinnedOutputs] = field(default_factory=list)
    trees: list[list[Tree]] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = self.outputs.shape
        self._gradients = np.empty(shape, np.float32)
        needed = self.sampler.weighs or not self.objective.constant_hessian
        self._hessians = np.empty(shape, np.float32) if needed else None
        self._dropped: list[list[int]] = []  # in each step

    def replay(self, trees: list[list[Tree]], after_step: Callable[[], None]) -> None:
        """Add the trees of an earlier attempt as the first steps, with bit-identical outputs."""
        training = BinnedOutputs(self.grower.binned, self.outputs)
        for step, grown in enumerate(trees):
            if len(grown) != len(self.outputs):
                raise ModelError(
                    f"a record to resume from has {len(grown)} trees per step, not "
                    f"{len(self.outputs)}"
                )
            self.objective.prepare(self.outputs, step)
            parts = self._leave_out(step)
            training.add(grown, self.n_jobs)
            self._finish(grown, parts)
            after_step()

    def step(self) -> None:
        """Add the trees of one step."""
        outputs, step = self.outputs, len(self.trees)
        self.objective.prepare(outputs, step)
        parts = self._leave_out(step)
        self._compute_gradients(step)
        rows = self.sampler.draw(step, self._gradients, self._hessians)
        old = outputs if len(outputs) == 1 else outputs.copy()
        grown = [self._grow(step, output, old, rows) for output in range(len(outputs))]
        self._finish(grown, parts)

    def kept_trees(self, n_steps: int) -> list[list[Tree]]:
        """Return the trees of the first steps, with the weights that they had after these.

        Trees are changed in place: nothing can be added afterwards.
        """
        weights = self._weights(n_steps)
        for grown, weight in zip(self.trees[:n_steps], weights, strict=True):
            for tree in grown if weight != 1.0 else ():
                tree.value[:] *= weight
        return self.trees[:n_steps]

    def _weights(self, n_steps: int) -> list[float]:
        """Return the weights of trees after some steps: dropout lowers those that it left out."""
        weights = [1.0] * n_steps
        for dropped in self._dropped[:n_steps]:
            for number in dropped:
                weights[number] *= len(dropped) / (len(dropped) + 1)
        return weights

    def _leave_out(self, step: int) -> list[Floats]:
        """Subtract the dropped trees from all outputs; return what they added to each."""
        if self.dropout is None:
            return []
        dropped = self.dropout.draw(step)
        parts = []
        if dropped:
            all_weights = self._weights(step)
            weights = [all_weights[number] for number in dropped]
            steps = [self.trees[number] for number in dropped]
            for binned in (BinnedOutputs(self.grower.binned, self.outputs), *self.eval_outputs):
                parts.append(binned.part_of(steps, weights, self.n_jobs))
                binned.outputs -= parts[-1]
        self._dropped.append(dropped)
        return parts

    def _finish(self, grown: list[Tree], parts: list[Floats]) -> None:
        """Add new trees, which the training outputs have, and lowered dropped ones elsewhere."""
        for eval_outputs in self.eval_outputs:
            eval_outputs.add(grown, self.n_jobs)
        if parts:
            n_dropped = len(self._dropped[-1])
            every = (self.outputs, *(other.outputs for other in self.eval_outputs))
            for outputs, part in zip(every, parts, strict=True):
                outputs += n_dropped / (n_dropped + 1) * part
        self.trees.append(grown)

    def _compute_gradients(self, step: int) -> None:
        constant = self.objective.constant_hessian
        hessians = None if constant else self._hessians
        self.objective.gradients(self.outputs, self._gradients, hessians, step)
        if constant and self._hessians is not None:
            self._hessians[:] = 1.0

    def _rate(self) -> float:
        """Return the learning rate of the step at hand."""
        n_dropped = len(self._dropped[-1]) if self._dropped else 0
        return self.learning_rate / (n_dropped + 1)

    def _random_strength(self, step: int) -> float:
        """Return the noise on splits of a step: it fades once ``rate * step`` nears log n.

        With m = n exp(-rate step), for n training documents, it is m / (1 + m) times the noise of
        the start.
        """
        if self.random_strength == 0.0:
            return 0.0
        length = self.learning_rate * step - math.log(self.sampler.shard.n_rows)
        return self.random_strength / (1.0 + math.exp(min(length, 700.0)))

    def _grow(self, step: int, output: int, old: Floats, rows: npt.NDArray[Any] | None) -> Tree:
        tree = self.grower.grow(
            self._gradients[output],
            None if self._hessians is None else self._hessians[output],
            rows=rows,
            seed=self.seed + step * len(old) + output,
            random_strength=self._random_strength(step),
        )
        leaf_of_row = self.grower.leaf_of_row
        values = self.objective.leaf_values(old, leaf_of_row, tree.n_nodes, output)
        answers = tree.value
        answers[:] = self._rate() * (answers if values is None else values)
        if not (np.abs(answers) < _LARGEST_VALUE).all():
            raise ValueError(
                f"in step {step + 1} scores grow beyond {_LARGEST_VALUE:g}: learning_rate="
                f"{self.learning_rate:g} is too large, or the labels are"
            )
        add_leaf_values(self.outputs[output], leaf_of_row, answers, self.n_jobs)
        return tree
