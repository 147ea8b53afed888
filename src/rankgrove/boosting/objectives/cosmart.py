"""CosMART: the angle between the scores and the gains of a query."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.arithmetic import Gain, ideal_dcg, label_gains


class CosineDistance(Objective):
    r"""Loss :math:`\frac12 \left(1 - \frac{\langle s, G \rangle}{|s| \, N}\right)` of a query.

    The norm N of the gains G is their length :math:`|G|`, or the ideal DCG of the whole list in the
    form that is consistent with NDCG (Ravikumar, Tewari and Yang, "On NDCG Consistency of Listwise
    Ranking Methods", 2011). With :math:`\hat s = s / |s|`,

    .. math::
        g_i = \frac{\langle \hat s, G \rangle \hat s_i - G_i}{2 |s| N}, \qquad
        h_i = \frac{|G|}{N} \, \frac{1 - \hat s_i^2}{2 |s|^2}.

    The second derivative of the cosine can be negative, so h is the Gauss-Newton Hessian: since
    :math:`1 - \cos = \frac12 |\hat s - \hat G|^2`, the loss is a sum of squares.

    The cosine has no value where all scores of a query are 0, and no gradient can say where to go
    from there. Scores therefore start at 1, the vector that prefers no document; a query whose
    scores are all 0 (as an init model may leave them) is taken as if they were 1. Queries
    without a relevant document are left out.

    Parameters
    ----------
    consistent : whether N is the ideal DCG (c-CosMART)
    gain : ``"exp"``, ``"linear"`` or a table of gains
    """

    def __init__(self, data: TrainingData, consistent: bool = False, gain: Gain = "exp") -> None:
        self.data = data
        self.gains = label_gains(data.y, gain)
        if consistent:
            self.norm = ideal_dcg(data.offsets, self.gains)
        else:
            squares = np.bincount(data.query_of_document(), self.gains**2, data.n_queries)
            self.norm = np.sqrt(squares)

    def base_score(self) -> Floats:
        """Return 1: equal scores with a finite cosine."""
        return np.ones(1)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        assert hessians is not None
        _native.cosine_gradients(
            self.data.offsets,
            scores[0],
            self.gains,
            self.norm,
            self.data.weight,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )
