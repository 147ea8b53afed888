"""What every objective has in common."""

from functools import partial

import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data

from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.cosmart import CosineDistance
from rankgrove.boosting.objectives.groupquantile import CentredQuantileLoss
from rankgrove.boosting.objectives.klmart import KullbackLeibler
from rankgrove.boosting.objectives.lambdaloss import LambdaLossGradients
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.boosting.objectives.mart import SquaredError
from rankgrove.boosting.objectives.mcrank import GradeProbabilities
from rankgrove.boosting.objectives.pairlogit import PairwiseLogistic
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.boosting.objectives.querycrossentropy import ShiftedLogistic
from rankgrove.boosting.objectives.queryrmse import CentredSquaredError
from rankgrove.boosting.objectives.querysoftmax import SoftmaxCrossEntropy
from rankgrove.boosting.objectives.stochasticfilter import ExpectedFilteredDCG
from rankgrove.boosting.objectives.stochasticrank import SmoothedMetric
from rankgrove.boosting.objectives.xendcg import CrossEntropyNDCG
from rankgrove.boosting.objectives.yetiloss import YetiLossPairs
from rankgrove.boosting.objectives.yetirank import YetiRankPairs

OBJECTIVES = [
    SquaredError,
    LambdaGradients,
    PlackettLuceLikelihood,
    GradeProbabilities,
    KullbackLeibler,
    CosineDistance,
    CrossEntropyNDCG,
    YetiRankPairs,
    CentredSquaredError,
    SoftmaxCrossEntropy,
    LambdaLossGradients,
    YetiLossPairs,
    partial(LambdaGradients, noise=0.5),
    PairwiseLogistic,
    partial(ShiftedLogistic, max_grade=4.0),
    CentredQuantileLoss,
    ExpectedFilteredDCG,
    SmoothedMetric,
    partial(SmoothedMetric, metric="map", mu=0.1),
    partial(SmoothedMetric, metric="err"),
]
every_objective = pytest.mark.parametrize(
    "objective", OBJECTIVES, ids=lambda o: getattr(o, "func", o).__name__
)


def scores_for(objective, n, seed=0, scale=1.0):
    shape = n if objective.n_outputs == 1 else (objective.n_outputs, n)
    return np.random.default_rng(seed).normal(size=shape) * scale


@every_objective
def test_threads_do_not_change_a_bit(objective):
    sizes = [41, 0, 1, 7] * 60
    one, three = (objective(training_data(sizes, seed=1, n_threads=n)) for n in (1, 3))
    scores = scores_for(one, sum(sizes))
    for a, b in zip(run(one, scores), run(three, scores), strict=True):
        np.testing.assert_array_equal(a, b)


@every_objective
def test_document_weights_multiply_gradients_and_hessians(objective):
    sizes = [20, 3, 9]
    weight = np.repeat([2.0, 0.5, 3.0], sizes)
    plain, weighted = (objective(training_data(sizes, seed=2, weight=w)) for w in (None, weight))
    scores = scores_for(plain, 32)
    for a, b in zip(run(plain, scores), run(weighted, scores), strict=True):
        np.testing.assert_allclose(b, a * weight, rtol=1e-6)


@pytest.mark.parametrize("objective", [o for o in OBJECTIVES if o is not GradeProbabilities])
def test_no_documents_no_gradients(objective):
    empty = objective(TrainingData(np.zeros(0), np.zeros(3, np.int64)))
    assert len(run(empty, np.zeros(0))[0]) == 0


@every_objective
@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_huge_score_gaps_stay_finite(objective, scale):
    built = objective(training_data([30, 1, 2], seed=3))
    gradients, hessians = run(built, scores_for(built, 33, scale=scale))
    assert np.isfinite(gradients).all()
    assert np.isfinite(hessians).all()
    assert (hessians >= 0).all()


@every_objective
def test_wrong_lengths_are_refused(objective):
    built = objective(training_data([30], seed=4))
    with pytest.raises((ValueError, TypeError)):
        run(built, scores_for(built, 29))


@every_objective
def test_output_arrays_of_another_type_are_refused(objective):
    built = objective(training_data([30], seed=4))
    scores = scores_for(built, 30)
    wrong = np.zeros(scores.shape)
    with pytest.raises(TypeError):
        built.gradients(scores, wrong, None if built.constant_hessian else wrong, 0)
