"""Every metric says truly if it depends on the values of scores, not on their order alone."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.metrics.python_metric import PythonMetric
from rankgrove.metrics.registry import metric_class, metric_names

OWN = [name for name in metric_names() if not issubclass(metric_class(name), PythonMetric)]


@pytest.mark.parametrize("name", OWN)
def test_metrics_say_if_they_depend_on_the_values_of_scores(name):
    rng = np.random.default_rng(3)
    y, qid = rng.integers(0, 4, 60).astype(float), np.repeat(np.arange(6), 10)
    metric = rankgrove.metric(name)
    scores = rng.normal(size=60)
    if metric.of_probabilities:
        pytest.skip("it takes no scores")
    values = metric.per_query(y, scores, qid=qid)

    def changes(other):
        return not np.allclose(metric.per_query(y, other, qid=qid), values)

    assert changes(3 * scores) == metric.of_scale
    assert changes(np.exp(scores)) == metric.of_values
