"""Models of a comparison say which columns are categorical."""

import json

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Products with texts and numbers, and models that take columns in several ways."""
    folder = tmp_path_factory.mktemp("products")
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(40), 10)})
    frame["brand"] = random.choice(["acme", "globex", "initech"], len(frame))
    frame["shop"] = random.integers(0, 5, len(frame))
    frame["price"] = random.random(len(frame)).round(3)
    frame["label"] = (frame.brand == "acme").astype(int) + (frame.shop == 3)
    frame.to_csv(folder / "data.csv", index=False)
    ways = {
        "both": {"categorical": ["brand", "shop"]},
        "brand": {"categorical": ["brand"]},
        "alone": {"categorical": ["brand"], "ignore": ["shop"]},
        "numbers": {"ignore": ["brand"]},
    }
    for name, options in ways.items():
        data = rankgrove.load(folder / "data.csv", **options)
        rankgrove.MART(n_estimators=3, min_samples_leaf=5).fit(data).save(folder / f"{name}.rg")
    return folder


@pytest.fixture(autouse=True)
def there(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)


def compared(out, *words):
    rankers = [f"--ranker={word}" for word in words if not word.startswith("--")]
    options = " ".join(word for word in words if word.startswith("--")).split()
    more = ["--folds", "3", "--metric", "ndcg@5", "--out", str(out), "--quiet", "--json"]
    return main(["compare", "data.csv", *rankers, *options, *more])


@pytest.mark.parametrize("other", ["model:both.rg", "model:alone.rg", "mart:n_estimators=2"])
def test_the_option_is_not_needed_and_changes_nothing(other, tmp_path, capsys):
    first = "model:alone.rg" if other == "model:alone.rg" else "first=model:both.rg"
    second = f"second={other}"
    assert compared(tmp_path / "a", first, second) == 0
    without = json.loads(capsys.readouterr().out)
    option = "brand" if "alone" in other else "brand shop"
    assert compared(tmp_path / "b", first, second, f"--categorical {option}") == 0
    named = json.loads(capsys.readouterr().out)
    assert means(without) == means(named)


def means(found):
    rows = next(v for v in found.values() if isinstance(v, list) and v and "fold" in v[0])
    assert len(rows) == 6
    return [(row["ranker"], row["fold"], row["ndcg@5"]) for row in rows]


def test_a_model_that_lacks_a_column_does_not_disagree(tmp_path, capsys):
    assert compared(tmp_path, "model:both.rg", "model:alone.rg") == 0


def test_models_that_disagree_are_named(tmp_path, capsys):
    assert compared(tmp_path, "model:both.rg", "model:brand.rg") == 1
    message = capsys.readouterr().err
    assert "column 'shop' is categorical for the model both.rg" in message
    assert "the model brand.rg was trained with numbers there" in message


def test_a_model_that_contradicts_the_option_is_named(tmp_path, capsys):
    assert compared(tmp_path, "model:brand.rg", "model:alone.rg", "--categorical shop") == 1
    message = capsys.readouterr().err
    assert "column 'shop' is in --categorical, but the model brand.rg was trained with" in message


def test_a_frame_is_read_as_data_in_memory_are():
    frame = pd.read_csv("data.csv")
    data = rankgrove.load(frame, categorical=["brand", "shop"])
    model = rankgrove.load_model("both.rg")
    expected = rankgrove.evaluate(data, model.predict(data), metrics="ndcg@5")["ndcg@5"]
    for given in (frame, data):
        found = rankgrove.compare(given, ["model:both.rg"], folds=3, metrics="ndcg@5")
        (result,) = found.results(found.datasets[0])
        assert result.values["ndcg@5"] == pytest.approx(expected, abs=1e-12)


def test_a_model_whose_categories_the_data_lack_is_named(tmp_path, capsys):
    pd.read_csv("data.csv").drop(columns="brand").to_csv(tmp_path / "without.csv", index=False)
    words = [
        "compare",
        str(tmp_path / "without.csv"),
        "--quiet",
        "--out",
        str(tmp_path / "results"),
    ]
    assert main([*words, "--ranker", "random", "--ranker", "model:brand.rg"]) == 1
    said = capsys.readouterr().err
    assert "there is no column 'brand'" in said
    assert "The model brand.rg was trained with the categories of 'brand'" in said
