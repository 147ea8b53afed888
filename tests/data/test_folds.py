"""Folds of the usual collections, and folds by query."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.data.reading.folds import fold_numbers
from rankgrove.errors import DataError, DataWarning


def write(path: Path, qid: int, n_features: int = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f"1 qid:{qid} {n_features}:1\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def queries(folds) -> list[list[list[int]]]:
    return [[data.qid.tolist() for data in fold] for fold in folds]


def test_folders_of_folds(tmp_path):
    for fold in range(1, 11):
        for role, qid in [("train", 1), ("vali", 2), ("test", 3)]:
            write(tmp_path / f"Fold{fold}" / f"{role}.txt", qid * fold)
    expected = [[[fold], [2 * fold], [3 * fold]] for fold in range(1, 11)]  # 10 is the last
    assert queries(rg.load_folds(tmp_path)) == expected


def test_one_set_of_files(tmp_path):
    for role, qid in [("train", 1), ("valid", 2), ("test", 3)]:
        write(tmp_path / f"{role}.txt.gz", qid)
    assert queries(rg.load_folds(tmp_path)) == [[[1], [2], [3]]]


def test_parts_are_turned_round(tmp_path):
    for part in range(1, 6):
        write(tmp_path / f"S{part}.txt", part)
    assert queries(rg.load_folds(tmp_path)) == [
        [[1, 2, 3], [4], [5]],
        [[2, 3, 4], [5], [1]],
        [[3, 4, 5], [1], [2]],
        [[4, 5, 1], [2], [3]],
        [[5, 1, 2], [3], [4]],
    ]


def test_yahoo_names(tmp_path):
    for number in (1, 2):
        for role, qid in [("train", 1), ("valid", 2), ("test", 3)]:
            write(tmp_path / f"set{number}.{role}.txt", 10 * number + qid)
    assert queries(rg.load_folds(tmp_path)) == [[[11], [12], [13]], [[21], [22], [23]]]


def test_sets_of_a_fold_get_the_same_features(tmp_path):
    for role, width in [("train", 2), ("vali", 3), ("test", 1)]:
        write(tmp_path / f"{role}.txt", 1, width)
    (fold,) = rg.load_folds(tmp_path)
    assert [data.X.tolist() for data in fold] == [[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]]
    (fold,) = rg.load_folds(tmp_path, absent="missing")
    assert np.isnan(fold.test.X).tolist() == [[False, True, True]]


def test_numbering_from_zero_in_one_file_holds_for_all(tmp_path):
    for role, text in [
        ("train", "0 qid:1 0:5 1:6\n"),
        ("vali", "0 qid:2 1:7\n"),
        ("test", "0 qid:3 1:8\n"),
    ]:
        (tmp_path / f"{role}.txt").write_text(text)
    (fold,) = rg.load_folds(tmp_path)
    assert [data.X.tolist() for data in fold] == [[[5, 6]], [[0, 7]], [[0, 8]]]


def test_bad_folders_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        rg.load_folds(tmp_path / "none")
    with pytest.raises(DataError, match="no folds found"):
        rg.load_folds(tmp_path)
    write(tmp_path / "train.txt", 1)
    with pytest.raises(DataError, match=r"no validation file beside train\.txt"):
        rg.load_folds(tmp_path)
    write(tmp_path / "vali.txt", 1)
    write(tmp_path / "valid.txt", 1)
    with pytest.raises(DataError, match=r"valid\.txt and vali\.txt are both the validation set"):
        rg.load_folds(tmp_path)
    for part in (1, 2, 4):
        write(tmp_path / "parts" / f"S{part}.txt", part)
    with pytest.raises(DataError, match="found S1, S2, S4"):
        rg.load_folds(tmp_path / "parts")
    (tmp_path / "Fold1").mkdir()
    with pytest.raises(DataError, match="no train, vali and test files"):
        rg.load_folds(tmp_path)


@pytest.fixture
def data():
    qid = np.random.default_rng(0).permutation(np.repeat(np.arange(23), 4))
    return rg.Dataset(np.arange(92, dtype=np.float32)[:, None], np.zeros(92), qid)


def test_kfold_tests_every_query_once_and_never_cuts_one(data):
    folds = list(rg.kfold(data, 5, seed=3))
    assert len(folds) == 5
    tested = [set(fold.test.qid) for fold in folds]
    assert set().union(*tested) == set(range(23))
    assert sum(map(len, tested)) == 23
    for i, fold in enumerate(folds):
        sets = [set(part.qid) for part in fold]
        assert sum(map(len, sets)) == 23
        assert sum(part.n_rows for part in fold) == 92
        assert set(fold.validation.qid) == tested[(i + 1) % 5]
        assert set(fold.train.group_sizes) == {4}


def test_kfold_depends_on_the_seed_alone(data):
    first, again, other = (
        [fold.test.X.tolist() for fold in rg.kfold(data, 4, seed=seed)] for seed in (1, 1, 2)
    )
    assert first == again != other
    ordered = next(rg.kfold(data, 4, seed=None)).test
    assert ordered.groups.ids.tolist() == data.groups.ids[:6].tolist()


def test_kfold_without_validation(data):
    for fold in rg.kfold(data, 2, validation=False):
        assert fold.validation.n_rows == 0
        assert fold.train.n_rows + fold.test.n_rows == 92


def test_kfold_refuses_what_cannot_be_divided(data):
    with pytest.raises(ValueError, match=r"n_folds must be at least 3 \(training.*, not 2"):
        rg.kfold(data, 2)
    with pytest.raises(DataError, match="too few queries for 30 folds"):
        rg.kfold(data, 30)


def test_split_gives_each_query_to_one_part_and_keeps_the_order_of_rows(data):
    parts = rg.split(data, [0.6, 0.2, 0.2], seed=3)
    assert [part.n_queries for part in parts] == [14, 4, 5]
    assert sorted(np.concatenate([part.groups.ids for part in parts])) == list(range(23))
    for part in parts:
        assert set(part.group_sizes) == {4}
        assert np.all(np.diff(part.X[:, 0]) > 0)


def test_split_depends_on_the_seed_alone(data):
    first, again, other = (
        [part.X.tolist() for part in rg.split(data, [0.5, 0.5], seed=seed)] for seed in (1, 1, 2)
    )
    assert first == again != other
    ordered = rg.split(data, [0.25, 0.75], seed=None)[0]
    assert ordered.groups.ids.tolist() == data.groups.ids[:6].tolist()


def test_split_does_not_depend_on_how_a_share_is_computed():
    data = rg.Dataset(np.zeros((15, 1), np.float32), np.zeros(15), np.arange(15))
    for written in (0.1, 0.3, 0.7, 0.9):
        sizes = [
            [part.n_queries for part in rg.split(data, shares)]
            for shares in ((1 - written, written), (round(1 - written, 1), written))
        ]
        assert sizes[0] == sizes[1]
    thirds = rg.split(data, [1 / 3] * 3)
    assert [part.n_queries for part in thirds] == [5, 5, 5]


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([0.6, 0.3], r"shares must sum to 1, but 0\.6, 0\.3 sum to 0\.9"),
        ([1.2, -0.2], r"between 0 and 1, not 1\.2, -0\.2"),
        ([0.5, float("nan"), 0.5], "between 0 and 1, not 0.5, nan, 0.5"),
        ([1.0], "two or more numbers"),
        ([], "two or more numbers"),
        ([0.98, 0.01, 0.01], "the parts would have 23, 0, 0 queries, and each needs at least one"),
    ],
)
def test_split_refuses_what_cannot_be_divided(data, shares, message):
    with pytest.raises(ValueError, match=message):
        rg.split(data, shares)


def test_a_negative_seed_is_refused_by_name(data):
    with pytest.raises(ValueError, match="seed must be at least 0, not -1"):
        rg.split(data, [0.5, 0.5], seed=-1)
    with pytest.raises(ValueError, match="seed must be at least 0, not -1"):
        rg.kfold(data, 5, seed=-1)


@pytest.mark.data
def test_real_parts(letor_data):
    folds = list(rg.load_folds(letor_data / "mq2008"))
    assert [data.n_queries for data in folds[0]] == [471, 157, 156]
    assert sum(fold.test.n_rows for fold in folds) == 15211


def test_sorted_folds_hold_neighbouring_query_ids():
    ids = ["10", "9", "2", "b", "a", "1"]
    data = rg.Dataset(np.arange(6.0)[:, None], np.zeros(6), ids)
    tests = [list(fold.test.groups.ids) for fold in rg.kfold(data, 3, order="sorted")]
    assert [sorted(map(str, part)) for part in tests] == [["1", "2"], ["10", "9"], ["a", "b"]]
    again = [list(fold.test.groups.ids) for fold in rg.kfold(data, 3, seed=7, order="sorted")]
    assert again == tests
    with pytest.raises(ValueError, match="order must be one of random, sorted, not 'file'"):
        rg.kfold(data, 3, order="file")


def test_absent_folds_are_told_and_the_others_keep_their_numbers(tmp_path):
    for fold in (1, 3):
        for role, qid in [("train", 1), ("vali", 2), ("test", 3)]:
            write(tmp_path / f"Fold{fold}" / f"{role}.txt", qid * fold)
    with pytest.warns(DataWarning, match=r"Fold2 is missing \(the last is Fold3\)"):
        folds = list(rg.load_folds(tmp_path))
    assert queries(folds) == [[[1], [2], [3]], [[3], [6], [9]]]
    assert fold_numbers(tmp_path) == [1, 3]


def test_two_folders_of_one_number_are_refused(tmp_path):
    for folder in ("Fold1", "fold_1"):
        for role, qid in [("train", 1), ("vali", 2), ("test", 3)]:
            write(tmp_path / folder / f"{role}.txt", qid)
    with pytest.raises(DataError, match="Fold1 and fold_1 are both fold 1"):
        rg.load_folds(tmp_path)
