"""A frame with ``brand`` and ``category`` goes through everything without a line of encoding."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.formats.container import to_bytes
from rankgrove.formats.exporting import TARGETS, target_of
from rankgrove.serving import make_app

BRANDS = ["acme", "globex", "initech", "umbrella", "ü & sons"]
NAMES = ["brand", "category"]
SETTINGS = {"n_estimators": 12, "random_state": 0, "min_samples_leaf": 5, "n_jobs": 1}


def make_products():
    random = np.random.default_rng(0)
    brand = random.choice(np.array(BRANDS, object), 1500)
    category = random.choice(np.array([f"category {i}" for i in range(110)], object), 1500)
    frame = pd.DataFrame({"query_id": np.arange(1500) // 15, "price": random.random(1500).round(3)})
    good = np.isin(brand, ["acme", "initech"]) + 0
    frame["relevance"] = good + (frame.price < 0.5) + [int(name[-1]) % 3 == 0 for name in category]
    brand[::23] = None
    return frame.assign(brand=brand, category=category)


PRODUCTS = make_products()
TYPED = PRODUCTS.astype(dict.fromkeys(NAMES, "category"))
FEATURES = ["price", *NAMES]


@pytest.fixture(scope="module")
def ranker():
    return rg.LambdaMART(**SETTINGS).fit(rg.load(TYPED))


def other_frames():
    """Yield the same documents with other codes, another order of columns, as texts, ..."""
    backwards = {
        name: pd.CategoricalDtype(["unused", *sorted(PRODUCTS[name].dropna().unique())[::-1]])
        for name in NAMES
    }
    yield "other codes", TYPED.astype(backwards)
    yield "texts", PRODUCTS
    yield "another order of columns", PRODUCTS[PRODUCTS.columns[::-1]]
    yield "features alone", TYPED[["category", "price", "brand"]]
    table = pa.Table.from_pandas(PRODUCTS)
    yield "Arrow", table
    for place, name in enumerate(table.column_names):
        if name in NAMES:
            table = table.set_column(place, name, table[name].dictionary_encode())
    yield "dictionaries of Arrow", table
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(PRODUCTS)
    yield "polars", frame
    yield "Categorical", frame.with_columns(polars.col(NAMES).cast(polars.Categorical))


def test_fit_and_predict(ranker):
    X, y, qid = TYPED[FEATURES], TYPED.relevance, TYPED.query_id
    alike = rg.LambdaMART(**SETTINGS).fit(X, y, qid)
    scores = ranker.predict(TYPED)
    np.testing.assert_array_equal(alike.predict(X), scores)
    assert {1, 2} <= {*ranker.model_.ensemble.categorical_features.tolist()}
    for name, frame in other_frames():
        np.testing.assert_array_equal(ranker.predict(frame), scores, name)


def test_compare():
    rankers = ["lambdamart:n_estimators=5", "rf-point:n_estimators=5"]

    def means(frame, **options):
        found = rg.compare(frame, rankers, folds=3, n_jobs=1, metrics="ndcg@5", **options)
        return found.frame()["ndcg@5"].to_numpy()

    typed = means(TYPED)
    np.testing.assert_array_equal(means(PRODUCTS, categorical=NAMES), typed)
    assert (typed > means(PRODUCTS, ignore=NAMES) + 0.1).all()


def test_explain(ranker):
    found = ranker.explain(TYPED)
    values = {effect.feature: effect.value for effect in found.document(1)}
    assert (values["brand"], values["category"]) == tuple(PRODUCTS.loc[1, NAMES])
    again = ranker.explain(PRODUCTS)
    np.testing.assert_array_equal(again.values, found.values)


def test_serve(ranker, tmp_path):
    TestClient = pytest.importorskip("starlette.testclient").TestClient

    ranker.save(tmp_path / "shop.rg")
    rows = PRODUCTS[["category", "brand", "price"]].astype(object)
    rows = rows.where(rows.notna(), None).to_numpy().tolist()
    with TestClient(make_app({"shop": tmp_path / "shop.rg"})) as client:
        sent = {"columns": ["category", "brand", "price"], "rows": rows}
        answer = client.post("/score", json=sent).json()
    np.testing.assert_array_equal(answer["scores"], ranker.predict(TYPED))


CATEGORICAL_TARGETS = [
    name
    for name in TARGETS
    if target_of(name).carries_categories or target_of(name).category_indicators
]


@pytest.mark.process  # of a C compiler
@pytest.mark.parametrize("target", CATEGORICAL_TARGETS)
def test_export_and_check(ranker, target, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ranker.save("shop.rg")
    PRODUCTS.to_parquet("products.parquet")
    words = ["export", "shop.rg", "--to", target, "--out", "exported", "--check"]
    words += ["products.parquet"]
    if target == "elasticsearch":
        words += ["--missing", "zero"]  # it knows no missing numbers
    if target == "xgboost":
        words += ["--allow-changed-ranks", "5"]  # it adds in float32
    assert main(words) in (0, None), capsys.readouterr()
    assert "unknown categories" in capsys.readouterr().out


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_cluster(ranker):
    distributed = pytest.importorskip("dask.distributed")
    frames = pytest.importorskip("dask.dataframe")
    from rankgrove.distributed import fit, predict

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for frame, options in ((TYPED, {}), (PRODUCTS, {"categorical": NAMES})):
            far_frame = frames.from_pandas(frame, npartitions=3)
            far = fit(rg.LambdaMART(**SETTINGS), far_frame, on=client, n_workers=2, **options)
            assert to_bytes(far) == to_bytes(ranker)
            scores = predict(far, far_frame, on=client).compute().to_numpy()
            np.testing.assert_array_equal(scores, ranker.predict(PRODUCTS))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_validation_files_have_the_categories_of_the_training_file(tmp_path, capsys, kind):
    write = pd.DataFrame.to_csv if kind == "csv" else pd.DataFrame.to_parquet
    parts = {"train": PRODUCTS[:1200], "valid": PRODUCTS[1200:1400], "test": PRODUCTS[1400:]}
    paths = {name: str(tmp_path / f"{name}.{kind}") for name in parts}
    for name, part in parts.items():
        write(part, paths[name], index=False)
    model = str(tmp_path / "model.rg")
    words = ["--valid", paths["valid"], "--test", paths["test"], "--categorical", *NAMES]
    options = ["--n-estimators", "5", "--quiet", "--json", "--out", model]
    assert main(["train", "lambdamart", paths["train"], *words, *options]) == 0
    measured = json.loads(capsys.readouterr().out)["metrics"]
    for name in ("valid", "test"):
        data = rg.load(parts[name], categorical=NAMES)
        want = rg.load_model(model).score(data, metric="ndcg@10")
        assert measured[name]["ndcg@10"] == pytest.approx(want)


@pytest.mark.process
def test_the_command_line(ranker, tmp_path):
    PRODUCTS.to_csv(tmp_path / "products.csv", index=False)
    TYPED.to_parquet(tmp_path / "typed.parquet")
    PRODUCTS[PRODUCTS.columns[::-1]].to_feather(tmp_path / "texts.feather")

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-m", "rankgrove", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    params = [f"--{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]
    params = [text.replace("--random-state", "--seed") for text in params]
    named = ["--categorical", *NAMES]
    for source, options in (("products.csv", named), ("typed.parquet", [])):
        run("train", "lambdamart", source, *options, *params, "--out", f"{source}.rg")
        found = rg.load_model(tmp_path / f"{source}.rg")
        np.testing.assert_array_equal(found.predict(TYPED), ranker.predict(TYPED))
        for other in ("products.csv", "typed.parquet", "texts.feather"):
            run("predict", f"{source}.rg", other, "--out", "scores.txt")
            scores = np.loadtxt(tmp_path / "scores.txt")
            np.testing.assert_array_equal(scores, ranker.predict(TYPED), other)
    words = ["--folds", "3", "--ranker", "lambdamart:n_estimators=5", "--ranker", "random"]
    assert "lambdamart" in run("compare", "products.csv", *named, *words)
    words = ["--query-id", "3", "--document", "@1", "--above", "@15", "--json"]
    told = json.loads(run("explain", "products.csv.rg", "texts.feather", *words))
    shown = {one["feature"]: (one["first"], one["second"]) for one in told["differences"]}
    best, last = (45 + int(told[place]["document"]) - 1 for place in ("first", "second"))
    for name in NAMES:
        assert shown[name] == (PRODUCTS[name][best], PRODUCTS[name][last])
    assert "{category " in run("show", "products.csv.rg", "--tree", "1")
    assert "acme" in run("info", "products.csv.rg")
