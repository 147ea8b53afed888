"""McRank: learn the probability of each grade, rank by the expected gain."""

from __future__ import annotations

import warnings

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.errors import DataError, DataWarning
from rankgrove.metrics.arithmetic import Gain, label_gains
from rankgrove.trees.links import ExpectedGain

# Real-valued labels would become one class each, which is surely a mistake.
MAX_GRADES = 1000
# Every grade grows a tree in every iteration: many grades are slow, and rarely meant.
MANY_GRADES = 24


class GradeProbabilities(Objective):
    r"""Logistic loss of a document's grade.

    (Li, Burges and Wu, "McRank: Learning to Rank Using Multiple Classification and Gradient
    Boosting", 2007.) The grades are the distinct labels of the training data, K of them.

    The multi-class form has one output per grade, with p their softmax:

    .. math:: g_k = p_k - \mathbf{1}(y = k), \qquad h_k = \frac{K}{K - 1} p_k (1 - p_k),

    where the factor makes the Newton step that of Friedman's K-class logistic boosting. The ordinal
    form has one output per grade but the lowest, :math:`p_k = 1 / (1 + e^{-s_k}) = P(y \ge k)`:

    .. math:: g_k = p_k - \mathbf{1}(y \ge k), \qquad h_k = p_k (1 - p_k).

    Both start at the frequencies of the training data and score a document by its expected gain.

    Parameters
    ----------
    ordinal : whether to learn cumulative probabilities
    gain : what a grade is worth in the score: ``"linear"``, ``"exp"`` or a table of gains
    """

    def __init__(self, data: TrainingData, ordinal: bool = False, gain: Gain = "linear") -> None:
        self.data = data
        self.ordinal = ordinal
        self.grades = data.shard.distinct(data.y)
        if len(self.grades) > MAX_GRADES:
            raise DataError(
                f"McRank learns one class per label, but y has {len(self.grades)} distinct labels "
                f"(at most {MAX_GRADES}): round them, or use a ranker that takes real-valued labels"
            )
        if len(self.grades) < 2:
            found = f"only the label {self.grades[0]:g}" if len(self.grades) else "none"
            raise DataError(f"McRank needs at least two different labels, but y has {found}")
        if len(self.grades) > MANY_GRADES:
            warnings.warn(
                f"McRank learns one class per label, and y has {len(self.grades)} distinct labels: "
                "every iteration grows as many trees; round the labels to a few grades, or use a "
                "ranker that takes them as numbers, such as mart or lambdamart",
                DataWarning,
                stacklevel=6,
            )
        gains = label_gains(self.grades, gain)
        self.link = ExpectedGain(tuple(self.grades.tolist()), tuple(gains.tolist()), ordinal)
        self.classes = np.searchsorted(self.grades, data.y).astype(np.int32)
        self.n_outputs = self.link.n_outputs

    def base_score(self) -> Floats:
        """Return the scores at which the probabilities are the frequencies of the grades."""
        weight = np.ones(self.data.n_documents) if self.data.weight is None else self.data.weight
        counts = self.data.shard.totals(weight, self.classes, len(self.grades))
        # Add half a document per grade: no probability may be 0.
        frequencies = (counts + 0.5) / (counts.sum() + 0.5 * len(counts))
        if not self.ordinal:
            logarithms: Floats = np.log(frequencies)
            return logarithms
        at_least = np.cumsum(frequencies[::-1])[::-1][1:]
        odds: Floats = np.log(at_least / (1.0 - at_least))
        return odds

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        assert hessians is not None
        _native.class_gradients(
            scores,
            self.classes,
            self.data.weight,
            len(self.grades),
            self.ordinal,
            self.data.n_threads,
            gradients,
            hessians,
        )
