"""Every ranker takes categories as they are, or refuses them by name."""

import numpy as np
import pandas as pd
import pytest

import rankgrove as rg
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes
from rankgrove.rankers.base.registry import make_ranker, ranker_class, ranker_names

SMALL = {"n_estimators": 4, "n_bags": 2, "min_samples_leaf": 3, "n_folds": 2, "min_queries": 5}
SMALL |= {"random_state": 0, "n_jobs": 1}


def frame():
    random = np.random.default_rng(0)
    shop = random.choice(np.array(["a", "b", "c", "d"], object), 480)
    shop[::29] = None
    table = pd.DataFrame({"shop": shop, "x": random.random(480), "qid": np.arange(480) // 16})
    label = (shop == "b") * 2 + (table.x > 0.6)
    return table.assign(label=label)


FRAME = frame()
DATA = rg.load(FRAME, categorical=["shop"])


def small(name):
    known = ranker_class(name)._get_param_names()
    params = {key: value for key, value in SMALL.items() if key in known}
    if name in ("querycrossentropy", "listce"):
        params["max_grade"] = 3
    if name in ("rcrank", "plrank"):
        params.pop("min_samples_leaf", None)
    if name in ("bagged", "calibrated"):
        params["ranker"] = make_ranker("lambdamart", n_estimators=3, random_state=0)
    if name == "blend":
        params["rankers"] = [make_ranker("mart", n_estimators=3), make_ranker("rf", n_estimators=3)]
    return make_ranker(name, **params)


@pytest.mark.parametrize("name", ranker_names())
@pytest.mark.filterwarnings("ignore")
def test_categories_are_taken_or_refused_by_name(name, tmp_path):
    if not ranker_class(name).takes_categories:
        with pytest.raises(DataError, match="takes numbers alone, but 1 column is categorical"):
            small(name).fit(DATA)
        return
    if name == "igbrt":
        pytest.skip("it needs a forest")
    ranker = small(name).fit(DATA)
    queries = {"qid": FRAME.qid} if ranker.model_.needs_queries else {}
    scores = ranker.predict(FRAME, **queries)
    order = pd.CategoricalDtype(["d", "unused", "c", "b", "a"])
    other = FRAME[["x", "shop"]].astype({"shop": order})
    np.testing.assert_array_equal(ranker.predict(other, **queries), scores)
    ranker.save(tmp_path / "model.rg")
    loaded = rg.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict(FRAME, **queries), scores)
    assert to_bytes(small(name).fit(DATA), named=False) == to_bytes(ranker, named=False)
    unknown = ranker.predict(FRAME.assign(shop="never seen"), **queries)
    missing = ranker.predict(FRAME.assign(shop=None), **queries)
    np.testing.assert_array_equal(unknown, missing)


def pooled_by(ranker):
    """Return the numbers of categories with codes of their own and of those that share one."""
    found = ranker.fit(DATA).model_.columns.categories[0]
    return len(found.values), len(found.pooled)


def test_the_limit_of_an_inner_ranker_counts():
    inner = "mart:n_estimators=3,max_categories=3"
    alone = pooled_by(rg.MART(n_estimators=3, max_categories=3))
    assert alone == (2, 2)
    assert pooled_by(rg.Bagged(ranker=inner, n_bags=2, random_state=0)) == alone
    assert pooled_by(rg.Calibrated(ranker=inner, min_queries=5, random_state=0)) == alone
    other = "rf-point:n_estimators=3,max_categories=3"
    assert pooled_by(rg.Blend(rankers=[inner, other], n_folds=2, random_state=0)) == alone
    with pytest.raises(ValueError, match="the same max_categories, not 3, 4096"):
        rg.Blend(rankers=[inner, "rf-point:n_estimators=3"], n_folds=2).fit(DATA)
    forest = rg.RandomForest(n_estimators=3, max_categories=3)
    start = {"n_estimators": 1, "random_state": 0, "forest": forest}
    assert pooled_by(rg.IGBRT(max_categories=3, **start)) == alone
    with pytest.raises(ValueError, match="the same max_categories, not 3 and 4096"):
        rg.IGBRT(**start).fit(DATA)
