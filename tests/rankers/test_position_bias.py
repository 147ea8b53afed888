"""Boosted rankers on clicks: corrections of position bias from data to model file."""

import warnings

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.datasets import make_ranking, simulate_clicks
from rankgrove.errors import DataError, DataWarning
from rankgrove.formats.container import to_bytes

TRUST = [(1 / k * (1 - 0.65 / k), 0.65 / k**2) for k in range(1, 11)]
SETTINGS = {
    ("lambdamart", "ips"): {},
    ("lambdamart", "unbiased"): {},
    ("lambdamart", "additive"): {"position_bias_reg": 0.01},
    ("lambdamart", "trust"): {"trust_bias": TRUST},
    ("mart", "ips"): {},
    ("mart", "additive"): {},
    ("mart", "trust"): {"trust_bias": TRUST},
    ("querysoftmax", "ips"): {"max_click_weight": 5.0},
    ("querysoftmax", "additive"): {},
}


@pytest.fixture(scope="module")
def judged():
    return make_ranking(60, docs_per_query=12, n_features=6, seed=1)


@pytest.fixture(scope="module")
def clicks(judged):
    """Sessions whose ranking is that of the first feature, with some exploration."""
    log = simulate_clicks(
        judged, n_sessions=1500, ranker=judged.X[:, 0].astype(float), exploration=0.5, seed=2
    )
    rows = log["row"].to_numpy()
    return rankgrove.Dataset(
        judged.X[rows],
        log["clicked"].to_numpy().astype(float),
        log["session"].to_numpy().astype(np.int64),
        feature_names=judged.feature_names,
        position=log["position"].to_numpy(),
        propensity=log["propensity"].to_numpy(),
    )


def ranker_of(name, bias, **params):
    return rankgrove.make_ranker(
        name,
        **{"n_estimators": 20, "random_state": 0, "position_bias": bias}
        | SETTINGS.get((name, bias), {})
        | params,
    )


@pytest.mark.parametrize(("name", "bias"), SETTINGS)
class TestEveryCorrection:
    def test_the_model_is_the_same_for_any_number_of_threads(self, name, bias, clicks):
        one = ranker_of(name, bias, n_jobs=1).fit(clicks)
        scores = one.predict(clicks)
        np.testing.assert_array_equal(
            ranker_of(name, bias, n_jobs=3).fit(clicks).predict(clicks), scores
        )
        naive = ranker_of(name, "none").fit(clicks)
        assert not np.array_equal(naive.predict(clicks), scores)

    def test_arrays_mean_what_a_dataset_means(self, name, bias, clicks):
        needs = {"propensity": clicks.propensity} if bias == "ips" else {}
        ranker = ranker_of(name, bias).fit(
            clicks.X, clicks.y, clicks.qid, position=clicks.position, **needs
        )
        want = ranker_of(name, bias).fit(clicks)
        np.testing.assert_array_equal(ranker.predict(clicks.X), want.predict(clicks.X))

    def test_estimates_are_part_of_the_model_file(self, name, bias, clicks, tmp_path):
        ranker = ranker_of(name, bias).fit(clicks)
        ranker.save(tmp_path / "model.rg")
        table = rankgrove.load_model(tmp_path / "model.rg").position_bias_
        assert set(table) == set(ranker.position_bias_)
        for column, values in ranker.position_bias_.items():
            np.testing.assert_array_equal(table[column], values)
        np.testing.assert_array_equal(table["position"], np.arange(1, 11))
        assert table["documents"].sum() == clicks.n_rows
        assert table["clicks"].sum() == clicks.y.sum()

    def test_streams_give_the_bits_of_memory(self, name, bias, clicks, tmp_path, monkeypatch):
        monkeypatch.setattr("rankgrove.data.reading.arrow._BLOCK_ROWS", 700)
        monkeypatch.setattr("rankgrove.data.reading.arrow._BATCH_VALUES", 5000)
        rankgrove.write_parquet(clicks, tmp_path / "clicks.parquet")
        want = to_bytes(ranker_of(name, bias).fit(rankgrove.load(tmp_path / "clicks.parquet")))
        cached = rankgrove.scan(tmp_path / "clicks.parquet", cache=tmp_path / "cache")
        for source in (tmp_path / "clicks.parquet", cached):
            assert to_bytes(ranker_of(name, bias).fit(source)) == want
        again = rankgrove.scan(tmp_path / "clicks.parquet", cache=tmp_path / "cache")
        assert to_bytes(ranker_of(name, bias).fit(again)) == want

    def test_rows_of_weight_0_are_as_if_they_were_not_there(self, name, bias, clicks):
        kept = np.random.default_rng(0).random(clicks.n_rows) < 0.7
        part = clicks.select_rows(kept)
        arrays = {"position": clicks.position}
        if bias == "ips":
            arrays["propensity"] = clicks.propensity
        weighted = ranker_of(name, bias).fit(
            clicks.X, clicks.y, clicks.qid, sample_weight=kept.astype(float), **arrays
        )
        # Weights make Hessians of MART part of the sums, so that all rows have one here.
        want = ranker_of(name, bias).fit(
            part.X,
            part.y,
            part.qid,
            sample_weight=np.ones(part.n_rows),
            **{key: values[kept] for key, values in arrays.items()},
        )
        np.testing.assert_array_equal(weighted.predict(clicks.X), want.predict(clicks.X))


@pytest.mark.parametrize("bias", ["ips", "unbiased", "additive"])
def test_corrections_recover_what_naive_clicks_miss(bias, judged):
    """The shown ranking is against relevance, so that naive clicks mislead."""
    worst = -judged.y + 0.1 * judged.X[:, 0]
    log = simulate_clicks(
        judged, n_sessions=6000, ranker=worst, exploration=0.6, bias=1.5, noise=0.1, seed=3
    )
    rows = log["row"].to_numpy()
    shown = rankgrove.Dataset(
        judged.X[rows],
        log["clicked"].to_numpy().astype(float),
        log["session"].to_numpy().astype(np.int64),
        feature_names=judged.feature_names,
        position=log["position"].to_numpy(),
        propensity=log["propensity"].to_numpy(),
    )
    naive = ranker_of("lambdamart", "none").fit(shown).score(judged)
    assert ranker_of("lambdamart", bias).fit(shown).score(judged) > naive + 0.02


def test_early_stopping_keeps_the_estimates_of_the_best_step(clicks):
    train, valid = (clicks.select_queries(np.arange(1500) % 5 == part) for part in (0, 1))
    stopped = ranker_of("lambdamart", "unbiased", n_estimators=40).fit(train, eval_set=valid)
    assert stopped.best_iteration_ < 40
    whole = ranker_of("lambdamart", "unbiased", n_estimators=stopped.best_iteration_).fit(train)
    for name, values in whole.position_bias_.items():
        np.testing.assert_array_equal(stopped.position_bias_[name], values)


def test_first_iterations_are_those_of_lightgbm(clicks):
    lightgbm = pytest.importorskip("lightgbm")
    # Few leaves: larger trees have splits whose gains are equal but for rounding.
    trees = {"tree": "leafwise", "max_leaf_nodes": 4, "l2": 0.0, "n_estimators": 3}
    settings = {"learning_rate": 0.1, **trees}
    ours = ranker_of("lambdamart", "additive", **settings).fit(clicks).predict(clicks)
    naive = ranker_of("lambdamart", "none", **settings).fit(clicks).predict(clicks)
    peer = lightgbm.train(
        {
            "objective": "lambdarank",
            "num_leaves": 4,
            "learning_rate": 0.1,
            "lambdarank_position_bias_regularization": 0.01,
            "verbose": -1,
            "num_threads": 1,
        },
        lightgbm.Dataset(clicks.X, clicks.y, group=clicks.group_sizes, position=clicks.position),
        num_boost_round=3,
    ).predict(clicks.X)
    assert np.abs(ours - naive).max() > 0.05
    assert np.corrcoef(ours, peer)[0, 1] > 0.999
    assert np.quantile(np.abs(ours - peer), 0.95) < 1e-4


class TestRefusals:
    def test_positions_without_a_correction(self, clicks):
        with pytest.raises(ValueError, match="position has no effect on LambdaMART with"):
            rankgrove.LambdaMART().fit(clicks.X, clicks.y, clicks.qid, position=clicks.position)

    def test_rankers_without_corrections(self, clicks):
        with pytest.raises(ValueError, match="RFPoint has no use for position"):
            rankgrove.RFPoint().fit(clicks.X, clicks.y, clicks.qid, position=clicks.position)

    def test_a_correction_that_a_ranker_does_not_know(self, clicks):
        with pytest.raises(ValueError, match="position_bias of MART must be 'none', 'ips'"):
            rankgrove.MART(position_bias="unbiased").fit(clicks)

    @pytest.mark.parametrize(("bias", "column"), [("ips", "propensity"), ("unbiased", "position")])
    def test_what_a_correction_needs(self, bias, column, clicks):
        with pytest.raises(DataError, match=f"needs the {column} of each row"):
            rankgrove.LambdaMART(position_bias=bias).fit(clicks.X, clicks.y, clicks.qid)

    def test_grades(self, judged):
        with pytest.raises(DataError, match="needs clicks, labels of 0 and 1, not"):
            rankgrove.LambdaMART(position_bias="unbiased").fit(
                judged.X, judged.y, judged.qid, position=np.ones(judged.n_rows)
            )

    @pytest.mark.parametrize("value", [0, -1, 1.5, np.nan])
    def test_positions_that_are_none(self, value, clicks):
        position = clicks.position.astype(float)
        position[7] = value
        with pytest.raises(DataError, match="row 7"):
            rankgrove.LambdaMART(position_bias="unbiased").fit(
                clicks.X, clicks.y, clicks.qid, position=position
            )

    def test_positions_beside_a_stream(self, clicks, tmp_path):
        rankgrove.write_parquet(clicks, tmp_path / "clicks.parquet")
        with pytest.raises(DataError, match="brings its position: name its column, position="):
            rankgrove.LambdaMART(position_bias="unbiased").fit(
                tmp_path / "clicks.parquet", position=clicks.position
            )

    def test_batches_of_which_some_have_no_positions(self, clicks):
        half = clicks.select_queries(np.arange(700))
        rest = clicks.select_queries(np.arange(700, 1500))
        rest.position = None
        with pytest.raises(DataError, match="some of the data have positions, others have none"):
            rankgrove.LambdaMART(position_bias="unbiased").fit(rankgrove.scan(iter([half, rest])))

    def test_positions_without_trust(self, clicks):
        with pytest.raises(DataError, match="position 10 has no trust_bias"):
            rankgrove.LambdaMART(position_bias="trust", trust_bias=TRUST[:9]).fit(clicks)
        with pytest.raises(ValueError, match="needs trust_bias"):
            rankgrove.LambdaMART(position_bias="trust").fit(clicks)

    def test_idle_parameters(self, clicks):
        with pytest.raises(ValueError, match=r"max_click_weight .* with position_bias='none'"):
            rankgrove.LambdaMART(max_click_weight=3.0).fit(clicks)


class TestTables:
    @pytest.fixture
    def frame(self, clicks):
        frame = pd.DataFrame(clicks.X, columns=[f"f{j}" for j in range(clicks.n_features)])
        return frame.assign(
            session=clicks.qid,
            clicked=clicks.y,
            position=clicks.position,
            theta=clicks.propensity,
        )

    def test_columns_are_named(self, frame, clicks):
        roles = {"label": "clicked", "query": "session"}
        data = rankgrove.load(frame, **roles, position="position", propensity="theta")
        assert data.feature_names == tuple(f"f{j}" for j in range(clicks.n_features))
        np.testing.assert_array_equal(data.position, clicks.position)
        np.testing.assert_array_equal(data.propensity, clicks.propensity)

    def test_a_position_is_no_feature_where_labels_are_clicks(self, frame):
        with pytest.warns(DataWarning, match=r"no features: 'position' \(position= names"):
            data = rankgrove.load(frame, label="clicked", query="session", ignore=["theta"])
        assert "position" not in data.feature_names
        assert data.position is None

    def test_a_position_is_a_feature_if_it_is_named(self, frame):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            data = rankgrove.load(
                frame, label="clicked", query="session", features=["f0", "position"]
            )
        assert data.feature_names == ("f0", "position")

    def test_grades_keep_a_position_as_a_feature(self, frame):
        graded = frame.rename(columns={"clicked": "grade"})
        with pytest.warns(DataWarning, match="look like a rank"):
            data = rankgrove.load(graded, query="session", ignore=["theta"])
        assert "position" in data.feature_names

    def test_bad_values_are_named_by_column_and_row(self, frame, tmp_path, monkeypatch):
        monkeypatch.setattr("rankgrove.data.reading.arrow._BLOCK_ROWS", 700)
        monkeypatch.setattr("rankgrove.data.reading.arrow._BATCH_VALUES", 5000)
        roles = {"label": "clicked", "query": "session", "position": "position"}
        frame.loc[4000, "position"] = 0
        frame.to_parquet(tmp_path / "clicks.parquet")
        for read in (rankgrove.load, lambda *a, **o: rankgrove.scan(*a, **o).read()):
            with pytest.raises(DataError, match=r"\(column 'position'\) of row 4000 is 0"):
                read(tmp_path / "clicks.parquet", ignore=["theta"], **roles)
        frame.loc[4000, "position"] = 1
        frame.loc[5000, "theta"] = 1.5
        with pytest.raises(DataError, match=r"propensity \(column 'theta'\) of row 5000 is 1.5"):
            rankgrove.load(frame, propensity="theta", **roles)

    def test_written_parquet_keeps_positions(self, clicks, tmp_path):
        from rankgrove.data.writing import write_letor, write_parquet

        write_parquet(clicks, tmp_path / "clicks.parquet")
        data = rankgrove.load(tmp_path / "clicks.parquet")
        assert data.feature_names == clicks.feature_names
        np.testing.assert_array_equal(data.position, clicks.position)
        np.testing.assert_array_equal(data.propensity, clicks.propensity)
        with pytest.raises(DataError, match="cannot hold positions"):
            write_letor(clicks, tmp_path / "clicks.txt")

    def test_command_line(self, frame, clicks, tmp_path):
        from rankgrove.cli.main import main

        frame.to_csv(tmp_path / "clicks.csv", index=False)
        out = tmp_path / "model.rg"
        roles = ["--label", "clicked", "--query", "session", "--position", "position"]
        roles += ["--propensity", "theta"]
        settings = ["--n-estimators", "5", "--position-bias", "ips", "--quiet"]
        path = str(tmp_path / "clicks.csv")
        assert main(["train", "lambdamart", path, *roles, *settings, "--out", str(out)]) == 0
        table = rankgrove.load_model(out).position_bias_
        np.testing.assert_allclose(table["propensity"], 1 / np.arange(1, 11))
