"""Splits on categories from and to other libraries, checked by these libraries themselves."""

import json

import numpy as np
import pandas as pd
import pytest

import rankgrove as rg
from rankgrove.errors import ModelError
from rankgrove.formats.export_check import check_export
from rankgrove.formats.exporting import TARGETS, export_model, target_of

VALUES = ["b", "a", "ü", "c d", "x'y"]


def frame(n=600, seed=0, texts=True):
    random = np.random.default_rng(seed)
    brand = random.choice(np.array(VALUES, object), n)
    shop = random.integers(0, 40, n)
    table = pd.DataFrame({"price": random.random(n)})
    table["shop"] = pd.Categorical(shop)
    if texts:
        table["brand"] = pd.Categorical(brand)
    label = (brand == "a") * 2 + np.isin(shop % 7, [1, 4]) + (table.price > 0.6)
    missing = random.random(n) < 0.1
    table.loc[missing, "shop"] = None
    return table, np.asarray(label, float)


def codes_of(table):
    return table.assign(**{name: table[name].cat.codes for name in ("shop", "brand")})


@pytest.mark.parametrize("numbers", [False, True])
def test_lightgbm_in(numbers):
    lightgbm = pytest.importorskip("lightgbm")
    table, y = frame()
    X = codes_of(table).astype(float).replace(-1, np.nan) if numbers else table
    options = {"categorical_feature": ["shop", "brand"]} if numbers else {}
    params = {"min_data_per_group": 5, "min_data_in_leaf": 3, "verbose": -1, "max_cat_to_onehot": 2}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y, **options), 30)
    ranker = rg.from_lightgbm(booster)
    assert ranker.model_.ensemble.category_sets is not None
    np.testing.assert_array_equal(ranker.predict(X), booster.predict(X))
    other = X.assign(shop=999.0) if numbers else X.assign(shop=pd.Categorical([999] * len(X)))
    with pytest.warns(rg.DataWarning, match="'shop'"):
        np.testing.assert_array_equal(ranker.predict(other), booster.predict(other))


@pytest.mark.parametrize("onehot", [1, 100])
@pytest.mark.parametrize("numbers", [False, True])
def test_xgboost_in(onehot, numbers):
    # (Models of xgboost before 3.1 know categories as numbers only.)
    xgboost = pytest.importorskip("xgboost", minversion=None if numbers else "3.1")
    table, y = frame()
    table["brand"] = table.brand.cat.rename_categories({"ü": "u"})
    X = codes_of(table).astype(float).replace(-1, np.nan) if numbers else table
    types = ["q", "c", "c"] if numbers else None
    data = xgboost.DMatrix(X, y, enable_categorical=True, feature_types=types)
    booster = xgboost.train({"max_cat_to_onehot": onehot, "max_depth": 5}, data, 20)
    ranker = rg.from_xgboost(booster)
    assert ranker.model_.ensemble.category_sets is not None
    np.testing.assert_allclose(ranker.predict(X), booster.predict(data), atol=1e-5)


def test_texts_that_are_not_ascii_are_right_or_refused_where_xgboost_cut_them():
    xgboost = pytest.importorskip("xgboost", minversion="3.1")
    table, y = frame()
    data = xgboost.DMatrix(table, y, enable_categorical=True)
    booster = xgboost.train({}, data, 3)
    if tuple(map(int, xgboost.__version__.split(".")[:2])) < (3, 3):
        with pytest.raises(ModelError, match="damaged texts for the categories of 'brand'"):
            rg.from_xgboost(booster)
    else:
        imported = rg.from_xgboost(booster)
        assert np.allclose(imported.predict(table), booster.predict(data), atol=1e-5)


def test_a_hostile_number_of_a_category_is_refused(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    table, y = frame()
    X = codes_of(table).astype(float).replace(-1, np.nan)
    data = xgboost.DMatrix(X, y, enable_categorical=True, feature_types=["q", "c", "c"])
    model = json.loads(xgboost.train({}, data, 1).save_raw("json"))
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    assert tree["categories"]
    tree["categories"][0] = 2**40
    (tmp_path / "hostile.json").write_text(json.dumps(model))
    with pytest.raises(
        ModelError, match=r"hostile\.json: column .*: the category 1099511627776 is"
    ):
        rg.from_xgboost(tmp_path / "hostile.json")


@pytest.mark.parametrize("numbers", [False, True])
def test_sklearn_in(numbers):
    from sklearn.ensemble import HistGradientBoostingRegressor

    table, y = frame()
    X = codes_of(table).astype(float).replace(-1, np.nan) if numbers else table
    kinds = ["shop", "brand"] if numbers else "from_dtype"
    model = HistGradientBoostingRegressor(max_iter=20, categorical_features=kinds).fit(X, y)
    ranker = rg.from_sklearn(model)
    assert ranker.model_.ensemble.category_sets is not None
    np.testing.assert_array_equal(ranker.predict(X), model.predict(X))


def test_catboost_in(tmp_path):
    catboost = pytest.importorskip("catboost")
    table, y = frame()
    X = table.assign(shop=table["shop"].astype("Int64").fillna(-1).astype(int))
    X["brand"] = X.brand.astype(str)
    pool = catboost.Pool(X, y, cat_features=["shop", "brand"])
    options = {"iterations": 20, "depth": 4, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(one_hot_max_size=100, **options).fit(pool)
    ranker = rg.from_catboost(model, pool=pool)
    assert ranker.model_.ensemble.category_sets is not None
    columns = ranker.model_.columns
    assert {type(v) for v in columns.categories[1].values} == {int}
    with pytest.warns(rg.DataWarning, match="categories that"):
        scores = ranker.predict(X)  # CatBoost keeps only the categories that splits ask for
    np.testing.assert_allclose(scores, model.predict(X, prediction_type="RawFormulaVal"), atol=1e-9)
    with pytest.raises(ModelError, match="known by their hashes alone"):
        rg.from_catboost(model)
    counters = catboost.CatBoostRegressor(one_hot_max_size=2, **options).fit(pool)
    with pytest.raises(ModelError, match=r"counter of CatBoost \(OnlineCtr\)"):
        rg.from_catboost(counters, pool=pool)


def fitted(n_shops=None, **params):
    table, y = frame()
    data = table.assign(label=y, qid=np.arange(len(y)) // 20)
    ranker = rg.LambdaMART(n_estimators=20, random_state=0, min_samples_leaf=3, **params)
    return ranker.fit(rg.load(data)), rg.load(data)


@pytest.fixture(scope="module", params=["subsets", "statistics", "pooled"])
def model(request):
    params = {"category_splits": "statistics"} if request.param != "subsets" else {}
    if request.param == "pooled":
        params["max_categories"] = 12
    ranker, data = fitted(**params)
    if ranker.model_.ensemble.category_sets is None:
        pytest.skip("no split asks for categories")
    return ranker, data


NATIVE = [
    name
    for name in TARGETS
    if target_of(name).carries_categories or target_of(name).category_indicators
]
ENGINES = [name for name in TARGETS if target_of(name).category_indicators]


@pytest.mark.process  # of a C compiler
@pytest.mark.parametrize("target", NATIVE)
def test_out(model, target, tmp_path):
    ranker, data = model
    missing = "zero" if target == "elasticsearch" else None  # it knows no missing numbers
    export = export_model(ranker.model_, tmp_path / "model", target, missing=missing)
    X = ranker.model_.columns.match(data).to_array()
    found = check_export(ranker.model_, export, X, data.groups, data.y)
    assert any("unknown categories" in agreement.against for agreement in found)
    for agreement in found:
        assert agreement.largest_difference < 1e-5, agreement
        assert agreement.changed_ranks == 0 or target == "xgboost", agreement


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in NATIVE])
def test_targets_of_numbers_refuse_by_name(model, target, tmp_path):
    with pytest.raises(ModelError, match=rf"{target} knows numbers alone.*'shop'"):
        export_model(model[0].model_, tmp_path / "model", target)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("target", ENGINES)
def test_sets_are_features_of_the_upload(model, target, tmp_path):
    """The definitions alone, applied to the values of documents, give the features of the file."""
    ranker, _ = model
    export = export_model(
        ranker.model_, tmp_path / "model", target, missing="zero", with_request=True
    )
    body = next(path for path in export.requests if "features" in path.name)
    stored = json.loads(body.read_text())
    features = stored if target == "solr" else stored["featureset"]["features"]
    defined = {one["name"]: one for one in features}
    table, _ = frame(seed=5)
    X = ranker.model_.columns.match(table).to_array()
    assert export.indicators is not None
    values = export.indicators.matrix(X)
    first = len(export.indicators.numeric)
    assert export.indicators.indicators
    for j, one in enumerate(export.indicators.indicators, first):
        texts = table[one.field].astype(object).map(str, na_action="ignore")
        if target == "solr":
            (query,) = defined[one.name]["params"]["fq"]
            head, listed = query[2:].split("}", 1)
            mark = head.split("separator='")[1][0]
            wanted = set(listed.split(mark))
        else:
            terms = defined[one.name]["template"]["constant_score"]["filter"]["terms"]
            wanted = {str(value) for value in terms[one.field]}
        np.testing.assert_array_equal(values[:, j] == 1, texts.isin(wanted))
    assert not {"shop", "brand"} & set(defined)


def test_onnx_names_the_codes(model, tmp_path):
    onnx = pytest.importorskip("onnx")
    ranker, _ = model
    export_model(ranker.model_, tmp_path / "model.onnx", "onnx")
    facts = {p.key: p.value for p in onnx.load(tmp_path / "model.onnx").metadata_props}
    values = json.loads(facts["categories"])
    assert set(values) == {"shop", "brand"}
    assert sorted(values["brand"]) == sorted(VALUES)


def test_lightgbm_and_back_by_value(model, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    ranker, _ = model
    table, _ = frame(seed=3)
    export_model(ranker.model_, tmp_path / "model.txt", "lightgbm")
    booster = lightgbm.Booster(model_file=str(tmp_path / "model.txt"))
    np.testing.assert_allclose(booster.predict(table), ranker.predict(table), atol=1e-12)
    again = rg.from_lightgbm(tmp_path / "model.txt")
    np.testing.assert_allclose(again.predict(table), ranker.predict(table), atol=1e-12)


def test_vespa_lists_values(model, tmp_path):
    ranker, _ = model
    export_model(ranker.model_, tmp_path / "model.json", "vespa")
    dump = json.loads((tmp_path / "model.json").read_text())
    names = [name for name in ("price", "shop", "brand") if name in dump["feature_infos"]]
    assert len(dump["pandas_categorical"]) == len(names)
    for name, values in zip(names, dump["pandas_categorical"], strict=True):
        assert len(dump["feature_infos"][name]["values"]) == len(values)


def test_vespa_takes_no_quotes(tmp_path):
    table, y = frame()
    table["brand"] = table.brand.cat.rename_categories({"a": 'a"b'})
    data = rg.load(table.assign(label=y, qid=np.arange(len(y)) // 20))
    ranker = rg.LambdaMART(n_estimators=5, random_state=0, category_splits="statistics").fit(data)
    with pytest.raises(ModelError, match="no quotes"):
        export_model(ranker.model_, tmp_path / "model.json", "vespa")
