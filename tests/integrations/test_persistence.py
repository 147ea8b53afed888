"""pickle, joblib and skops keep a fitted ranker as it is."""

from __future__ import annotations

import io
import pickle

import joblib
import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking

DATA = make_ranking(20, n_features=5, seed=1)


@pytest.mark.parametrize("name", ["lambdamart", "rf-point", "ranksvm"])
@pytest.mark.parametrize("library", ["pickle", "joblib", "skops"])
def test_scores_survive(name, library):
    given = {} if name == "ranksvm" else {"n_estimators": 3}
    ranker = rankgrove.make_ranker(name, random_state=0, **given).fit(DATA)
    if library == "pickle":
        again = pickle.loads(pickle.dumps(ranker))
    elif library == "joblib":
        file = io.BytesIO()
        joblib.dump(ranker, file)
        file.seek(0)
        again = joblib.load(file)
    else:
        skops = pytest.importorskip("skops.io")
        content = skops.dumps(ranker)
        types = skops.get_untrusted_types(data=content)
        assert types == [f"{type(ranker).__module__}.{type(ranker).__qualname__}"]
        again = skops.loads(content, trusted=types)
    assert np.array_equal(again.predict(DATA), ranker.predict(DATA))
    assert again.get_params() == ranker.get_params()
