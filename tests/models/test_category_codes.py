"""Models with different dictionaries: continued, added up, merged."""

import csv
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rankgrove as rg
from rankgrove.errors import DataError, ModelError
from rankgrove.models.sums import add_up


def frame(values, seed, n=400):
    random = np.random.default_rng(seed)
    shop = random.choice(np.array(values, object), n)
    shop[::23] = None
    table = pd.DataFrame({"shop": shop, "x": random.random(n), "qid": np.arange(n) // 20})
    worth = pd.Series(shop).map({value: len(str(value)) % 3 for value in values}).fillna(1)
    return table.assign(label=np.clip(worth + (table.x > 0.5), 0, 3))


FIRST = frame(["a", "bb", "ccc", "dddd"], 0)
SECOND = frame(["bb", "ccc", "eeeee", "f", "0"], 1)
EVERY = frame(["0", "a", "bb", "ccc", "dddd", "eeeee", "f", "never"], 2)


def fitted(table, **options):
    ranker = rg.LambdaMART(n_estimators=8, random_state=0, min_samples_leaf=5)
    return ranker.fit(rg.load(table, categorical=["shop"]), **options)


@pytest.mark.filterwarnings("ignore:.*are categories that")
def test_a_continued_model_keeps_what_it_knew():
    first = fitted(FIRST)
    second = fitted(SECOND, init_model=first)
    known = second.model_.columns.categories[0]
    assert set(known.values) == {"0", "a", "bb", "ccc", "dddd", "eeeee", "f"}
    n_init = second.model_.n_init_trees
    head = second.model_.ensemble.head(n_init)
    alone = replace(second.model_, ensemble=head, n_init_trees=0)
    codes = second.model_.columns.match(EVERY)
    np.testing.assert_allclose(alone.scores(codes), first.predict(EVERY), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*are categories that")
def test_a_sum_of_models_is_the_sum_of_their_scores():
    one, two = fitted(FIRST), fitted(SECOND)
    total = add_up([one.model_, two.model_])
    scores = total.scores(total.columns.match(EVERY))
    np.testing.assert_allclose(scores, one.predict(EVERY) + two.predict(EVERY), atol=1e-9)


def test_a_column_is_categorical_in_both_models_or_in_neither():
    numbers = FIRST.assign(shop=FIRST["x"])
    plain = rg.LambdaMART(n_estimators=3, random_state=0).fit(rg.load(numbers))
    with pytest.raises(ModelError, match="'shop' holds categories in the data, but numbers in the"):
        fitted(FIRST, init_model=plain)
    with pytest.raises(DataError, match="'shop' holds numbers in another model, but categories"):
        add_up([fitted(FIRST).model_, plain.model_])


def test_continuing_with_values_of_another_kind_is_refused():
    numbers = FIRST.assign(shop=np.arange(len(FIRST)) % 5)
    with pytest.raises(DataError, match=r"whole numbers .* model that is continued holds texts"):
        fitted(numbers, init_model=fitted(FIRST))


def test_forests_of_other_dictionaries_are_not_merged():
    def forest(table, first_tree):
        ranker = rg.RFPoint(n_estimators=3, random_state=0, first_tree=first_tree)
        return ranker.fit(rg.load(table, categorical=["shop"]))

    with pytest.raises((DataError, ModelError), match="'0' of the model is not among"):
        rg.merge(forest(FIRST, 0), forest(SECOND, 3))
    same = rg.merge(forest(FIRST, 0), forest(FIRST, 3))
    assert same.model_.ensemble.n_trees == 6


def test_a_field_of_csv_that_is_missing_may_be_meant_for_a_category(tmp_path):
    frame = pd.DataFrame({"country": pd.Categorical(["DE", "NA", "FR", "NA"] * 10)})
    ranker = rg.MART(n_estimators=2, min_samples_category=1).fit(
        frame, frame.country == "NA", qid=np.repeat(range(4), 10)
    )
    rows = frame.assign(label=0, qid=1)
    rows.to_csv(tmp_path / "bare.csv", index=False)
    rows.to_csv(tmp_path / "quoted.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    bare = rg.load(tmp_path / "bare.csv", categorical=["country"])
    with pytest.warns(
        rg.DataWarning, match="20 values are missing, and MART knows the category 'NA'"
    ):
        ranker.predict(bare)
    quoted = rg.load(tmp_path / "quoted.csv", categorical=["country"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(ranker.predict(quoted), ranker.predict(frame))
