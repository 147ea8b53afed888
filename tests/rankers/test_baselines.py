"""Rankings by one feature, and at random."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=12, n_features=6, seed=9)


class TestSingleFeature:
    def test_the_best_feature_is_found(self, data):
        averaged = rankgrove.metric("ndcg@10", ties="average")
        values = [
            averaged(data.y, sign * data.X[:, j], qid=data.qid)
            for j in range(data.n_features)
            for sign in (1, -1)
        ]
        ranker = rankgrove.SingleFeature().fit(data)
        assert ranker.feature_ == int(np.argmax(values)) // 2
        assert ranker.score(data, metric=averaged) == pytest.approx(max(values))

    def test_small_values_can_be_good(self, data):
        X = np.column_stack([-data.y, np.random.default_rng(0).random(len(data.y))])
        ranker = rankgrove.SingleFeature().fit(X, data.y, qid=data.qid)
        assert ranker.coef_.tolist() == [-1.0, 0.0]
        assert rankgrove.SingleFeature(direction="up").fit(X, data.y, qid=data.qid).feature_ == 1

    def test_by_name_and_by_number(self, data):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(data.X, columns=list("abcdef"))
        by_name = rankgrove.SingleFeature(feature="c", direction="up")
        by_name.fit(frame, data.y, qid=data.qid)
        by_number = rankgrove.SingleFeature(feature=2, direction="up").fit(data)
        np.testing.assert_array_equal(by_name.predict(frame), data.X[:, 2])
        np.testing.assert_array_equal(by_number.predict(data.X), data.X[:, 2])

    @pytest.mark.parametrize("feature", ["z", 6])
    def test_features_that_are_not_there(self, data, feature):
        with pytest.raises(DataError, match=f"parameter feature.*{feature}"):
            rankgrove.SingleFeature(feature=feature).fit(data)


class TestRandomRanking:
    def test_a_document_scores_the_same_alone_and_in_any_order(self, data):
        ranker = rankgrove.RandomRanking(random_state=3).fit(data)
        scores = ranker.predict(data.X)
        order = np.random.default_rng(0).permutation(len(scores))
        np.testing.assert_array_equal(ranker.predict(data.X[order]), scores[order])
        np.testing.assert_array_equal(ranker.predict(data.X[7:8]), scores[7:8])

    def test_seeds_give_different_rankings_around_chance(self, data):
        rankers = [rankgrove.RandomRanking(random_state=seed).fit(data) for seed in range(200)]
        values = [ranker.score(data, metric="endcg@10") for ranker in rankers]
        chance = rankgrove.metric("endcg@10")(data.y, np.zeros(len(data.y)), qid=data.qid)
        assert len(set(values)) == 200
        assert np.mean(values) == pytest.approx(chance, abs=4 * np.std(values) / np.sqrt(200))

    def test_scores_are_uniform_and_know_no_label(self, data):
        big = make_ranking(300, seed=1)
        scores = rankgrove.RandomRanking(random_state=0).fit(big).predict(big.X)
        _, rows = np.unique(big.X, axis=0, return_index=True)
        scores, labels = scores[rows], big.y[rows]
        counts, _ = np.histogram(scores, 10, (0, 1))
        assert counts.min() > 0.8 * len(scores) / 10
        assert abs(np.corrcoef(scores, labels)[0, 1]) < 0.05

    @pytest.mark.filterwarnings("ignore:.*every label is")
    def test_both_zeros_are_one_value(self):
        ranker = rankgrove.RandomRanking(random_state=0).fit([[1.0]], [0], qid=[1])
        assert ranker.predict([[0.0]]) == ranker.predict([[-0.0]]) == ranker.predict([[np.nan]])
