"""YetiLoss: neighbours in perturbed rankings, weighted by the change of a metric."""

from __future__ import annotations

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.boosting.objectives.lambdamart import metric_values, refuse_metric
from rankgrove.metrics.arithmetic import Gain


class YetiLossPairs(Objective):
    r"""YetiRank's pairs, weighted by the change of the metric if they were swapped.

    (Lyzhin, Ustimenko, Gulin and Prokhorenkova, "Which Tricks Are Important for Learning to Rank?",
    2023.) Each iteration ranks the documents of a query several times by
    :math:`s_i + \log\frac{u_i}{1 - u_i}` with fresh uniform :math:`u_i`. Neighbours in such a
    ranking form a pair of weight :math:`|\Delta M| / \text{(number of permutations)}`, where
    :math:`\Delta M` is the change of the metric when they swap places there. The pair adds its
    logistic loss at the scores s.

    Parameters
    ----------
    metric, k, gain, relevant_from, max_grade : as in LambdaMART
    n_permutations : perturbed rankings per query and iteration
    """

    def __init__(
        self,
        data: TrainingData,
        metric: str = "ndcg",
        k: int | None = None,
        n_permutations: int = 10,
        gain: Gain = "exp",
        relevant_from: float = 1.0,
        max_grade: float | None = None,
    ) -> None:
        refuse_metric(metric, k)
        self.data = data
        self.metric = metric
        self.k = k or max(1, data.n_documents)
        self.n_permutations = n_permutations
        self.value = metric_values(data, metric, k, gain, relevant_from, max_grade)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians; the draws depend on seed, iteration and query alone."""
        assert hessians is not None
        _native.yetiloss_gradients(
            self.data.offsets,
            scores[0],
            self.value,
            self.metric,
            self.k,
            self.data.weight,
            self.n_permutations,
            self.data.seed,
            iteration,
            self.data.shard.first_query,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )
