"""Models that compare in float64 see float64 values, whatever holds them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rankgrove

lightgbm = pytest.importorskip("lightgbm")
pandas = pytest.importorskip("pandas")

N = 600


@pytest.fixture(scope="module")
def imported():
    """Seconds, which float32 knows to 128, beside whole numbers and flags; LightGBM's scores."""
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {
            "seconds": 1.7e9 + rng.uniform(0, 5000, N),
            "clicks": rng.integers(0, 9, N),
            "new": rng.random(N) < 0.3,
            "share": 0.1 + np.arange(N) * 1e-12,
        }
    )
    y = (frame["seconds"] - 1.7e9) / 1000 + frame["clicks"] + (frame["share"] - 0.1) * 1e10
    booster = lightgbm.train(
        {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5},
        lightgbm.Dataset(frame.astype(float), y),
        20,
    )
    return rankgrove.from_lightgbm(booster), frame, booster.predict(frame.astype(float))


def nullable(frame):
    return frame.convert_dtypes()


def of_objects(frame):
    return frame.astype({"clicks": object})


def polars_frame(frame):
    return pytest.importorskip("polars").DataFrame(dict(frame.items()))


def arrow_table(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


@pytest.mark.parametrize("made", [lambda f: f, nullable, of_objects, polars_frame, arrow_table])
def test_frames_of_mixed_columns_score_as_in_lightgbm(made, imported, tmp_path):
    model, frame, expected = imported
    model.save(tmp_path / "m.rg")
    for ranker in (model, rankgrove.load_model(tmp_path / "m.rg")):
        np.testing.assert_allclose(ranker.predict(made(frame)), expected, rtol=1e-12)
        np.testing.assert_allclose(ranker.compile().predict(made(frame)), expected, rtol=1e-12)
    explained = model.explain(made(frame), qid=np.zeros(N))
    sums = explained.values.sum(axis=1) + explained.expected
    np.testing.assert_allclose(sums, expected, rtol=1e-9)


def test_a_dataset_that_rounding_may_have_changed_warns(imported):
    model, frame, _ = imported
    data = rankgrove.Dataset(frame, np.zeros(N), np.zeros(N))
    with pytest.warns(UserWarning, match="float64, and .* values lie within the rounding"):
        model.predict(data)


def test_a_dataset_far_from_all_thresholds_does_not_warn(imported):
    model, frame, _ = imported
    cuts = model.model_.ensemble.precise[model.model_.ensemble.feature == 0]
    far = frame.assign(seconds=np.float32(cuts.max() + 1e4), share=np.float32(0.5))
    data = rankgrove.Dataset(far, np.zeros(N), np.zeros(N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = model.predict(data)
    np.testing.assert_array_equal(scores, model.predict(far))
