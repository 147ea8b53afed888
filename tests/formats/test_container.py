"""Model files: what goes in comes out, and nothing else does."""

from __future__ import annotations

import json
import pickle
import stat
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.mutate_models import resealed, survives
from tests.oracles.ensembles import random_ensemble, rows_for

import rankgrove
from rankgrove.errors import ModelError
from rankgrove.formats.container import PRELUDE, load_model, save_model, to_bytes
from rankgrove.rankers.base.imported import ImportedRanker

DATA = Path(__file__).parent / "data"


def some_model(seed: int = 1, **kwargs) -> ImportedRanker:
    return ImportedRanker.from_ensemble(
        random_ensemble(seed, **kwargs), "a test", feature_names=["título", "b", "c", "d"]
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.rgm"
    some_model().save(path)
    return path


@pytest.mark.parametrize("mmap", [False, True])
def test_a_loaded_model_is_the_saved_one(saved, mmap):
    model, loaded = some_model(), load_model(saved, mmap=mmap)
    X = rows_for(model.model_.ensemble, 50, 2)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert list(loaded.feature_names_in_) == ["título", "b", "c", "d"]
    assert loaded.get_params() == model.get_params()
    assert type(loaded) is type(model)
    assert not loaded.model_.ensemble.value.flags.writeable


def test_identical_models_give_identical_bytes(saved, tmp_path):
    again = tmp_path / "again.rgm"
    load_model(saved).save(again)
    assert again.read_bytes() == saved.read_bytes() == to_bytes(some_model())


def test_arrays_are_aligned_and_findable_by_the_documented_layout(saved):
    data = saved.read_bytes()
    magic, version, length, checksum, zero = PRELUDE.unpack_from(data)
    header = data[PRELUDE.size : PRELUDE.size + length]
    assert (magic, version, zero, zlib.crc32(header)) == (b"RGROVE\r\n", 3, 0, checksum)
    described = {entry["name"]: entry for entry in json.loads(header)["arrays"]}
    for entry in described.values():
        assert (PRELUDE.size + length + entry["offset"]) % 64 == 0
    value = described["model/trees/value"]
    start = PRELUDE.size + length + value["offset"]
    read = np.frombuffer(data, value["dtype"], value["shape"][0], start)
    np.testing.assert_array_equal(read, some_model().model_.ensemble.value)


def test_saving_replaces_atomically(saved, monkeypatch):
    before = saved.read_bytes()

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr("rankgrove._files.os.fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        some_model(2).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    assert stat.S_IMODE(saved.stat().st_mode) & 0o444


@pytest.mark.parametrize("version", [1, 2])
def test_every_version_stays_readable(version):
    """Each file was written once by its version and must never be written again."""
    model = load_model(DATA / f"version{version}.rgm")
    X = np.array([[0.0, 1.0], [0.5, np.nan], [2.0, -1.0], [np.nan, 7.0]], np.float32)
    np.testing.assert_array_equal(model.predict(X), [1.5, 1.5, -0.25, 3.5])
    assert list(model.feature_names_in_) == ["bm25", "clicks"]


def test_pickle_goes_through_the_container():
    model = some_model()
    model.predict(rows_for(model.model_.ensemble, 3, 1))
    data = pickle.dumps(model)
    assert b"RGROVE\r\n" in data
    loaded = pickle.loads(data)
    X = rows_for(model.model_.ensemble, 50, 2)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    unfitted = pickle.loads(pickle.dumps(ImportedRanker(n_jobs=3)))
    assert unfitted.n_jobs == 3


def test_public_name():
    assert rankgrove.load_model is load_model


@pytest.mark.process
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "0 bytes are too few"),
        (lambda data: data[:10], "10 bytes are too few"),
        (lambda data: b"PK" + data[2:], "not a rankgrove model file"),
        (lambda data: data[:8] + struct.pack("<I", 5) + data[12:], "format version 5 is unknown"),
        (lambda data: data[:100] + b"~" + data[101:], "header is damaged"),
        (lambda data: data[:-100] + b"~" + data[-99:], "is damaged"),
        (lambda data: data[:-64], "does not fit the file"),
        (lambda data: data + b"\0" * 64, "the arrays end at byte"),
        (lambda data: data.replace(b"\r\n", b"\n", 1), "not a rankgrove model file"),
        (lambda data: data[:8] + struct.pack("<I", 0) + data[12:], "format version 0 is unknown"),
        (lambda data: resealed(data, lambda h: h.pop("ranker")), "does not name a ranker"),
        (
            lambda data: resealed(data, lambda h: h.update(ranker="x")),
            "unknown ranker 'x': import the",
        ),
        (lambda data: resealed(data, lambda h: h.pop("arrays")), "no list of arrays"),
        (lambda data: resealed(data, lambda h: h.pop("fitted")), "lacks 'fitted'"),
        (lambda data: resealed(data, lambda h: h["params"].update(missing="x")), "missing"),
        (lambda data: resealed(data, lambda h: h["model"].update(n_features=2)), "feature_names"),
        (lambda data: resealed(data, lambda h: h["model"].update(link="f")), "link 'f'"),
        (lambda data: resealed(data, lambda h: h["arrays"][0].update(dtype="|O")), "unknown type"),
        (lambda data: resealed(data, lambda h: h["arrays"][0].update(shape=[-1])), "shape"),
        (lambda data: resealed(data, lambda h: h["arrays"][0].update(shape=[1 << 40])), "fit"),
        (lambda data: resealed(data, lambda h: h["arrays"][1].update(offset=64 << 8)), "fit"),
        (lambda data: resealed(data, lambda h: h["arrays"].reverse()), "does not fit|damaged"),
    ],
)
def test_damaged_files_are_refused(saved, change, message):
    saved.write_bytes(change(saved.read_bytes()))
    with pytest.raises(ModelError, match=message) as caught:
        load_model(saved)
    assert str(saved) in str(caught.value)


def test_missing_file_and_unsaveable_state(tmp_path):
    with pytest.raises(ModelError, match="no such file"):
        load_model(tmp_path / "absent.rgm")
    model = some_model()
    model.source_ = object()
    with pytest.raises(ModelError, match="cannot be saved"):
        save_model(model, tmp_path / "model.rgm")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_mutated_files_give_a_clean_error_or_a_model_that_predicts(tmp_path):
    data = to_bytes(some_model(n_trees=4, n_leaves=6))
    outcomes = [survives(data, seed, tmp_path / "mutant.rgm") for seed in range(1500)]
    assert 0 < sum(outcomes) < len(outcomes)
