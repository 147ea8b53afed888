import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.oracles import list_losses as oracle

from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.mcrank import GradeProbabilities
from rankgrove.errors import DataError
from rankgrove.trees.links import ExpectedGain


@pytest.fixture
def data():
    return training_data([30, 0, 12], zero_share=0.1, seed=11)


def document_losses(ordinal, y):
    """Loss of one document as a function of its outputs."""
    if ordinal:
        signs = np.where(y >= np.arange(1, 5), 1.0, -1.0)
        return lambda s: float(np.sum(np.logaddexp(0.0, -signs * s)))
    return lambda s: -float(oracle.log_softmax(s)[int(y)])


@pytest.mark.parametrize("ordinal", [False, True])
def test_derivatives_match_finite_differences(data, ordinal):
    objective = GradeProbabilities(data, ordinal)
    assert objective.n_outputs == (4 if ordinal else 5)
    scores = np.random.default_rng(11).normal(size=(objective.n_outputs, 42)) * 2
    gradients, hessians = run(objective, scores)
    factor = 1.0 if ordinal else 5 / 4
    for d in range(42):
        loss = document_losses(ordinal, data.y[d])
        np.testing.assert_allclose(gradients[:, d], oracle.gradient(loss, scores[:, d]), atol=1e-6)
        want = factor * oracle.curvature(loss, scores[:, d])
        np.testing.assert_allclose(hessians[:, d], want, atol=1e-6)


@pytest.mark.parametrize("ordinal", [False, True])
def test_start_predicts_the_frequencies(data, ordinal):
    objective = GradeProbabilities(data, ordinal)
    start = np.repeat(objective.base_score()[:, None], 42, axis=1)
    assert objective.link.apply(start)[0] == pytest.approx(data.y.mean(), abs=0.05)
    gradients, _ = run(objective, start)
    assert np.abs(gradients.sum(axis=1)).max() < 1.5  # half a document is added to each grade


@pytest.mark.parametrize("ordinal", [False, True])
def test_link_is_the_expected_gain(ordinal):
    gains = np.array([0.0, 1.0, 4.0])
    raw = np.random.default_rng(12).normal(size=(2 if ordinal else 3, 2000)) * 3
    if ordinal:
        at_least = np.vstack([np.ones(2000), 1 / (1 + np.exp(-raw)), np.zeros(2000)])
        probabilities = at_least[:-1] - at_least[1:]
    else:
        probabilities = np.exp(raw) / np.exp(raw).sum(axis=0)
    want = gains @ probabilities
    np.testing.assert_allclose(
        ExpectedGain((0.0, 1.0, 2.0), tuple(gains), ordinal).apply(raw), want, rtol=1e-12
    )


@pytest.mark.parametrize("ordinal", [False, True])
def test_extreme_scores_stay_finite(data, ordinal):
    objective = GradeProbabilities(data, ordinal)
    scores = np.random.default_rng(13).normal(size=(objective.n_outputs, 42)) * 1e5
    for array in (*run(objective, scores), objective.link.apply(scores)):
        assert np.isfinite(array).all()


@pytest.mark.parametrize(
    ("gain", "want"),
    [("linear", [0, 1, 2, 3, 4]), ("exp", [0, 1, 3, 7, 15]), ([0, 0, 1, 1, 5],) * 2],
)
def test_grades_are_worth_their_gains(data, gain, want):
    np.testing.assert_array_equal(GradeProbabilities(data, gain=gain).link.gains, want)


def test_two_grades_in_ordinal_form_are_one_output():
    data = TrainingData(np.array([0.0, 1.0, 1.0]), np.array([0, 3]))
    objective = GradeProbabilities(data, ordinal=True)
    gradients, hessians = run(objective, np.zeros(3))
    np.testing.assert_allclose(gradients, [0.5, -0.5, -0.5])
    np.testing.assert_allclose(hessians, 0.25)


def test_labels_that_make_no_classes_are_named():
    with pytest.raises(DataError, match="only the label 0"):
        GradeProbabilities(training_data([5], n_grades=1))
    with pytest.raises(DataError, match="2000 distinct labels"):
        GradeProbabilities(TrainingData(np.arange(2000) / 7, np.array([0, 2000])))
