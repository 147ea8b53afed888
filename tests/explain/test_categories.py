"""Explanations name categories."""

import numpy as np
import pandas as pd
import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.explain.partial_dependence import partial_dependence
from rankgrove.explain.tree_drawing import read_tree, tree_text


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    random = np.random.default_rng(0)
    brand = random.choice(np.array(["acme", "[bold]", "zeta", "rare"], object), 400)
    brand[::19] = None
    table = pd.DataFrame({"brand": brand, "price": random.random(400)})
    table["label"] = (brand == "acme") * 2 + (table.price > 0.5)
    table["qid"] = np.arange(400) // 20
    folder = tmp_path_factory.mktemp("categories")
    table.to_csv(folder / "data.csv", index=False)
    data = rg.load(table, categorical=["brand"])
    ranker = rg.LambdaMART(n_estimators=10, random_state=0, min_samples_leaf=5).fit(data)
    ranker.save(folder / "model.rg")
    return ranker, data, folder


def test_contributions_name_categories_and_add_up(fitted):
    ranker, data, _ = fitted
    found = ranker.explain(data)
    np.testing.assert_allclose(found.scores, ranker.predict(data), atol=1e-9)
    values = {e.feature: e.value for e in found.document(1)}
    assert values["brand"] in {"acme", "[bold]", "zeta", "rare"}
    assert {e.feature: e.value for e in found.document(0)}["brand"] is None
    compared = {d.feature: (d.first, d.second) for d in found.compare(1, 2).differences}
    assert isinstance(compared["brand"][0], str)
    top = {e.feature: e.value for e in found.query(3, top=3).effects}
    assert top["brand"] == "acme"


def test_partial_dependence_names_categories(fitted):
    ranker, data, _ = fitted
    found = partial_dependence(ranker, data, "brand")
    assert found.labels[0] == ("[bold]", "acme", "rare", "zeta")
    assert found.to_dict()["grids"][0][int(found.values.argmax())] == "acme"


def test_trees_name_categories(fitted):
    ranker, _, _ = fitted
    text = tree_text(read_tree(ranker, 1))
    assert "brand in {acme}" in text or "brand not in {acme}" in text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["info", "model.rg"], "categories of brand: '[bold]', 'acme', 'rare', 'zeta'"),
        (["info", "data.csv", "--categorical", "brand"], "brand (4 values)"),
        (["show", "model.rg", "--tree", "1"], "{acme}"),
        (["explain", "model.rg", "data.csv", "--query-id", "3", "--document", "@1"], "acme"),
        (["explain", "model.rg", "data.csv", "--dependence", "brand"], "[bold]"),
    ],
)
def test_the_command_line_names_categories(fitted, words, shown, capsys, monkeypatch):
    monkeypatch.chdir(fitted[2])
    assert main(words) in (0, None)
    assert shown in capsys.readouterr().out
