"""Loaders of public collections, on tiny folders of the same layout."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove import datasets
from rankgrove.errors import DataError

LOADERS = {
    "letor": (datasets.load_letor, 46, 2),
    "mslr": (datasets.load_mslr, 136, 4),
    "yahoo": (datasets.load_yahoo, 700, 4),
    "istella": (datasets.load_istella, 220, 4),
}
FILES = {
    "letor": [f"S{i}.txt" for i in range(1, 6)],
    "mslr": [f"Fold{i}/{part}.txt" for i in range(1, 6) for part in ("train", "vali", "test")],
    "yahoo": [f"set{i}.{part}.txt" for i in (1, 2) for part in ("train", "valid", "test")],
    "istella": [f"{part}.txt" for part in ("train", "vali", "test")],
}
N_FOLDS = {"letor": 5, "mslr": 5, "yahoo": 2, "istella": 1}


def write_collection(name, folder, n_features, highest):
    for number, file in enumerate(FILES[name]):
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        lines = [
            f"{grade} qid:{10 * number + query} 1:0.5 {n_features}:{grade}.25\n"
            for query in range(2)
            for grade in (0, highest)
        ]
        path.write_text("".join(lines))


@pytest.mark.parametrize("name", LOADERS)
def test_folds_features_and_grades(name, tmp_path):
    load, n_features, highest = LOADERS[name]
    write_collection(name, tmp_path, n_features, highest)
    folds = list(load(tmp_path))
    assert len(folds) == N_FOLDS[name]
    for data in folds[0]:
        assert data.n_features == n_features
        assert set(data.y) == {0, highest}
        assert np.array_equal(data.X[:, -1], data.y + 0.25)


@pytest.mark.parametrize("name", ["mslr", "yahoo", "istella"])
def test_narrow_files_get_all_features(name, tmp_path):
    load, n_features, highest = LOADERS[name]
    write_collection(name, tmp_path, 3, highest)
    assert next(load(tmp_path)).test.n_features == n_features


@pytest.mark.parametrize("name", LOADERS)
def test_too_many_features(name, tmp_path):
    load, n_features, highest = LOADERS[name]
    write_collection(name, tmp_path, n_features + 40, highest)
    with pytest.raises(DataError, match=f"{n_features}"):
        list(load(tmp_path))


@pytest.mark.parametrize("name", LOADERS)
def test_grades_of_another_scale(name, tmp_path):
    load, n_features, highest = LOADERS[name]
    write_collection(name, tmp_path, n_features, highest + 1)
    with pytest.raises(DataError, match=f"grades 0 to {highest}, not {highest + 1}"):
        list(load(tmp_path))


@pytest.mark.parametrize("name", LOADERS)
def test_missing_folder_names_the_publisher(name, tmp_path):
    with pytest.raises(DataError, match=r"published by .* does not download"):
        LOADERS[name][0](tmp_path / "nowhere")


@pytest.mark.parametrize("name", LOADERS)
def test_empty_folder_names_the_layout(name, tmp_path):
    with pytest.raises(DataError, match=r"no folds found.* has .*\.txt"):
        LOADERS[name][0](tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(("part", "n_features"), [("mq2008", 46), ("ohsumed/QueryLevelNorm", 45)])
def test_real_letor(part, n_features, letor_data):
    fold = next(datasets.load_letor(letor_data / part))
    assert fold.train.n_features == n_features
    assert fold.train.n_queries > fold.test.n_queries
