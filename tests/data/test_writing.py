"""What is written reads back exactly."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rankgrove as rg
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.writing import write_letor, write_parquet
from rankgrove.errors import DataError

floats = st.floats(width=32, allow_nan=True, allow_infinity=True)
plain = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"], exclude_characters="#")
line = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=20)


@st.composite
def datasets(draw) -> Dataset:
    n_rows = draw(st.integers(1, 8))
    X = draw(hnp.arrays(np.float32, (n_rows, draw(st.integers(1, 5))), elements=floats))
    y = draw(hnp.arrays(np.float64, n_rows, elements=st.floats(0, 1e300)))
    ids = draw(
        st.one_of(
            st.lists(st.integers(-(10**17), 10**17), min_size=n_rows, max_size=n_rows),
            st.lists(st.text(plain, min_size=1, max_size=12), min_size=n_rows, max_size=n_rows),
        )
    )
    texts = st.lists(st.none() | line, min_size=n_rows, max_size=n_rows)
    return Dataset(
        X,
        y,
        np.array(ids),
        feature_names=draw(st.sampled_from([None, [f"f{j}" for j in range(X.shape[1])]])),
        comments=draw(st.none() | texts),
    )


def assert_same(actual: Dataset, expected: Dataset) -> None:
    np.testing.assert_array_equal(actual.X, expected.X)
    present = ~np.isnan(expected.X)
    np.testing.assert_array_equal(np.signbit(actual.X[present]), np.signbit(expected.X[present]))
    np.testing.assert_array_equal(actual.y, expected.y)
    assert actual.qid.tolist() == expected.qid.tolist()
    assert actual.feature_names == expected.feature_names
    for name in ("comments", "doc_ids"):
        given_texts, read_texts = getattr(expected, name), getattr(actual, name)
        assert (given_texts is None) == (read_texts is None)
        if given_texts is not None:
            assert read_texts.tolist() == given_texts.tolist()


def numbers_as_text(dataset: Dataset) -> bool:
    """Text ids that all look like integers come back as integers."""
    return dataset.qid.dtype.kind == "U" and all(
        i == str(int(i)) if i.lstrip("-").isascii() and i.lstrip("-").isdigit() else False
        for i in dataset.qid.tolist()
    )


@pytest.mark.slow
@settings(max_examples=150)
@given(
    data=datasets(),
    options=st.sampled_from([(None, "zero"), (None, "missing"), ("zero",) * 2, ("missing",) * 2]),
)
def test_letor_text_round_trips(tmp_path_factory, data, options):
    omit, absent = options
    path = tmp_path_factory.mktemp("letor") / "data.txt"
    write_letor(data, path, omit=omit)
    back = rg.load(path, absent=absent, first_feature=int(data.feature_names[0][1:]))
    if not numbers_as_text(data):
        assert_same(back, data)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=datasets())
def test_parquet_round_trips(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("parquet") / "data.parquet"
    write_parquet(data, path)
    back = rg.load(path)
    assert back.qid.dtype.kind == data.qid.dtype.kind
    assert_same(back, data)


def test_parquet_keeps_weights_and_document_ids(tmp_path):
    data = Dataset([[1], [2]], [0, 1], [1, 1], sample_weight=[0.1, 2], doc_ids=["a b", None])
    write_parquet(data, tmp_path / "data.parquet")
    back = rg.load(tmp_path / "data.parquet")
    assert back.sample_weight.tolist() == [0.1, 2]
    assert back.doc_ids.tolist() == ["a b", None]


def test_document_ids_go_to_comments(tmp_path):
    data = Dataset([[1], [2]], [0, 1], [1, 1], doc_ids=["GX-1", None])
    write_letor(data, tmp_path / "data.txt")
    assert (tmp_path / "data.txt").read_text() == "0 qid:1 1:1 #docid = GX-1\n1 qid:1 1:2\n"
    assert rg.load(tmp_path / "data.txt").doc_ids.tolist() == ["GX-1", None]


def test_rows_of_several_blocks_and_threads(tmp_path):
    rng = np.random.default_rng(0)
    data = Dataset(
        rng.normal(size=(40_000, 3)).astype(np.float32),
        rng.integers(0, 5, 40_000),
        np.arange(40_000) // 9,
    )
    texts = []
    for n_jobs in (1, 2):
        write_letor(data, tmp_path / "data.txt", n_jobs=n_jobs)
        texts.append((tmp_path / "data.txt").read_bytes())
    assert texts[0] == texts[1]
    assert_same(rg.load(tmp_path / "data.txt"), data)


def test_omission_keeps_the_number_of_features(tmp_path):
    data = Dataset([[1, 0, 0], [0, 2, 0]], [0, 1], [1, 1])
    write_letor(data, tmp_path / "data.txt", omit="zero")
    assert (tmp_path / "data.txt").read_text() == "0 qid:1 1:1 3:0\n1 qid:1 2:2\n"


X, Y = [[1.0], [2.0]], [0, 1]
UNFIT = {
    "weights": (Dataset(X, Y, [1, 1], sample_weight=[1, 2]), "cannot hold sample weights"),
    "blank id": (Dataset(X, Y, ["a b", "c"]), "'a b' cannot be written"),
    "empty id": (Dataset(X, Y, ["", "c"]), "'' cannot be written"),
    "hash id": (Dataset(X, Y, ["a", "#c"]), "'#c' cannot be written"),
    "long id": (Dataset(X, Y, ["é" * 128, "c"]), "it has more than 255 bytes"),
    "fractions": (Dataset(X, Y, [0.5, 1.5]), "fractional"),
    "line break": (
        Dataset(X, Y, [1, 1], comments=["ok", "a\nb"]),
        "comment of row 1 holds a line break",
    ),
    "odd doc id": (Dataset(X, Y, [1, 1], doc_ids=["a b", "c"]), "document ids"),
    "two stories": (Dataset(X, Y, [1, 1], doc_ids=["a", "c"], comments=["x", "y"]), "document ids"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_text_cannot_hold_is_refused_and_nothing_is_written(tmp_path, name):
    data, message = UNFIT[name]
    with pytest.raises(DataError, match=message):
        write_letor(data, tmp_path / "data.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "data.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_letor(Dataset(X, Y, [1, 1]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_feature_named_like_another_column_is_refused(tmp_path):
    data = Dataset(X, Y, [1, 1], feature_names=["label"])
    with pytest.raises(DataError, match="named 'label'"):
        write_parquet(data, tmp_path / "data.parquet")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_text_round_trips(tmp_path, suffix):
    data = Dataset(X, Y, ["a", "b"], comments=["x", None])
    path = tmp_path / f"data.txt{suffix}"
    write_letor(data, path)
    assert_same(rg.load(path), data)


@pytest.mark.data
@pytest.mark.parametrize("name", ["mq2008/S5.txt.gz", "ohsumed/Feature-null/S4.txt.gz"])
def test_real_files_round_trip(letor_data, tmp_path, name):
    data = rg.load(letor_data / name)
    write_parquet(data, tmp_path / "data.parquet")
    table = rg.load(tmp_path / "data.parquet")
    assert_same(table, data)
    write_letor(table, tmp_path / "data.txt")
    assert_same(rg.load(tmp_path / "data.txt"), data)


def test_damaged_pages_of_parquet_are_noticed(tmp_path):
    """Uncompressed values have no redundancy of their own: only their checksums tell."""
    rng = np.random.default_rng(0)
    data = rg.Dataset(rng.random((400, 3), np.float32), rng.integers(0, 3, 400), [7] * 400)
    rg.write_parquet(data, tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")  # which has none
    for place in rng.integers(4, len(whole) - 8 - footer, 60):
        damaged = bytearray(whole)
        damaged[place] ^= 1 + int(rng.integers(255))
        (tmp_path / "damaged.parquet").write_bytes(damaged)
        try:
            found = rg.load(tmp_path / "damaged.parquet")
        except DataError:
            continue
        assert np.array_equal(found.X, data.X)
        assert np.array_equal(found.y, data.y)
