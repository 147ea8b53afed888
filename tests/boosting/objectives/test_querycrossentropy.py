import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import list_losses as oracle

import rankgrove
from rankgrove.boosting.objectives.querycrossentropy import ShiftedLogistic
from rankgrove.errors import DataError

SIZES = [1, 8, 0, 25, 2]


def loss_of(alpha, target, weight):
    return lambda s: oracle.query_cross_entropy(s, target, weight, alpha)


@pytest.mark.parametrize("alpha", [0.0, 0.95, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_match_finite_differences(alpha, weighted):
    random = np.random.default_rng(3)
    weight = random.random(36) + 0.5 if weighted else None
    data = training_data(SIZES, seed=3, weight=weight)
    scores = np.round(random.normal(size=36) * 2, 1)

    def derivatives(s, t, w):
        loss = loss_of(alpha, t, w)
        return oracle.gradient(loss, s), oracle.curvature(loss, s)

    got = run(ShiftedLogistic(data, alpha, max_grade=4.0), scores)
    ones = np.ones(36) if weight is None else weight
    want = per_query(data, derivatives, scores, data.y / 4.0, ones)
    for array, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(array, expected, atol=2e-5)


def test_loss_is_that_of_catboost():
    utils = pytest.importorskip("catboost.utils")
    random = np.random.default_rng(4)
    sizes = [1, 7, 12, 30, 5]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    target = random.integers(0, 2, len(qid)).astype(float)
    target[8:20] = 1.0  # a query of one class
    scores = random.normal(size=len(qid))
    (want,) = utils.eval_metric(target, scores, "QueryCrossEntropy:alpha=0.7", group_id=qid)
    losses = [
        loss_of(0.7, target[qid == q], np.ones(n))(scores[qid == q]) for q, n in enumerate(sizes)
    ]
    assert sum(losses) / len(qid) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_queries_of_one_class_have_no_shifted_part(label):
    data = training_data([6], n_grades=1)
    data.y[:] = label
    gradients, hessians = run(ShiftedLogistic(data, alpha=1.0), np.linspace(-2, 2, 6))
    assert not gradients.any()
    assert not hessians.any()


@pytest.mark.parametrize(("label", "match"), [(3.0, r"\(3\) .* max_grade=3"), (-0.5, r"\(-0.5\)")])
def test_labels_outside_are_refused_by_row_before_work_starts(label, match):
    X = np.full((4, 1), np.nan)  # binning would not mind
    y = [0.0, 1.0, label, 1.0]
    ranker = rankgrove.QueryCrossEntropy(missing="mean")
    ranker._fill = lambda *_: pytest.fail("work has started")
    with pytest.raises(DataError, match=rf"label of row 2 {match}"):
        ranker.fit(X, y, group_sizes=[4])


def test_scores_start_at_the_log_odds_of_the_mean_label():
    data = training_data([400], n_grades=2, seed=5)
    mean = data.y.mean()
    assert ShiftedLogistic(data).base_score() == pytest.approx(np.log(mean / (1 - mean)), rel=0.02)
