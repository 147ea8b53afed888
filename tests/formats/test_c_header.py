"""``rankgrove.h`` scores model files with the bits of rankgrove, and refuses what it cannot."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from tests.fuzz.mutate_models import mutant
from tests.oracles.ensembles import random_ensemble, rows_for, rows_with_codes, with_sets

import rankgrove
from rankgrove.data.core.categories import Categories
from rankgrove.data.core.columns import Columns
from rankgrove.formats.container import to_bytes, write_container
from rankgrove.formats.ranker_state import pack
from rankgrove.models.trees import TreesModel

N_FEATURES = 6
NAMES = ["title", "ünïcode", "日本", 'a "quoted" one', "back\\slash", "🌳"]


class Header:
    """The header as a library, as another language would bind it."""

    def __init__(self, library):
        self.c = ctypes.CDLL(str(library))
        self.c.rankgrove_open.restype = ctypes.c_void_p
        self.c.rankgrove_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
        self.c.rankgrove_feature_name.restype = ctypes.c_char_p
        self.c.rankgrove_feature_name.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.c.rankgrove_n_features.argtypes = [ctypes.c_void_p]
        self.c.rankgrove_close.argtypes = [ctypes.c_void_p]
        sizes = [ctypes.c_size_t, ctypes.c_size_t]
        self.c.rankgrove_score.argtypes = [ctypes.c_void_p] * 2 + sizes + [ctypes.c_void_p]

    def open(self, path):
        error = ctypes.create_string_buffer(300)
        model = self.c.rankgrove_open(str(path).encode(), error, len(error))
        return model, error.value.decode()

    def score(self, path, X):
        model, error = self.open(path)
        assert model, error
        X = np.ascontiguousarray(X, np.float32)
        scores = np.empty(len(X))
        assert self.c.rankgrove_n_features(model) == X.shape[1]
        self.c.rankgrove_score(model, X.ctypes.data, *X.shape, scores.ctypes.data)
        self.c.rankgrove_close(model)
        return scores


def compiled(folder, *options):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = folder / "librankgrove.so"
    command = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", *options]
    command += ["-shared", "-fPIC", "-DRANKGROVE_IMPLEMENTATION", "-x", "c"]
    source = f"{rankgrove.get_include()}/rankgrove.h"
    run = subprocess.run(
        [*command, source, "-o", str(library), "-lm"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return Header(library)


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("header"))


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, N_FEATURES)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.clip(np.round(np.nan_to_num(X[:, 0] + X[:, 1]) + rng.normal(size=500)), 0, 3)
    return X, y, np.repeat(np.arange(25), 20)


def zero_as_missing():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = data()
    params = {"zero_as_missing": True, "verbose": -1, "num_threads": 1}
    return rankgrove.from_lightgbm(lightgbm.train(params, lightgbm.Dataset(X, y), 5))


def fitted(ranker):
    X, y, qid = data()
    return ranker.fit(X, y, qid=qid)


MODELS = {
    "boosted": lambda: fitted(rankgrove.LambdaMART(n_estimators=10, random_state=0)),
    "forest": lambda: fitted(rankgrove.RandomForest(n_estimators=5, random_state=0)),
    "oblivious": lambda: fitted(rankgrove.RCRank(n_estimators=5, random_state=0)),
    "fill": lambda: fitted(rankgrove.MART(n_estimators=5, missing="mean", random_state=0)),
    "zero as missing": zero_as_missing,
}


@pytest.mark.process
@pytest.mark.parametrize("name", MODELS)
def test_same_bits(header, name, tmp_path):
    ranker = MODELS[name]()
    ranker.save(tmp_path / "m.rg")
    X = data()[0]
    X[::9] = 0.0
    threshold = ranker.model_.ensemble.threshold
    feature = ranker.model_.ensemble.feature
    for j in range(N_FEATURES):
        on = threshold[(feature == j) & np.isfinite(threshold)]
        X[: len(on[:100]), j] = on[:100]
    np.testing.assert_array_equal(header.score(tmp_path / "m.rg", X), ranker.predict(X))


def save(trees, path):
    """Write an ensemble whose features 0, 2 and 4 have 70 categories where sets ask for them."""
    categories = dict.fromkeys(trees.categorical_features.tolist(), Categories.of(range(70)))
    model = TreesModel(columns=Columns(None, N_FEATURES, categories=categories), ensemble=trees)
    ranker = fitted(rankgrove.MART(n_estimators=1, random_state=0))
    ranker.model_ = model
    ranker.save(path)
    return model


@pytest.mark.process
def test_categories_are_codes(header, tmp_path):
    trees = with_sets(random_ensemble(3, n_leaves=40, n_features=N_FEATURES), 3, 70)
    model = save(trees, tmp_path / "m.rg")
    X = rows_with_codes(trees, 500, 4, 70)
    np.testing.assert_array_equal(header.score(tmp_path / "m.rg", X), model.scores(X))


def all_shapes(with_categories):
    """Trees in one and two words of bits and trees that are walked, in turns."""
    parts = [
        random_ensemble(n_leaves, 3, n_leaves, N_FEATURES, shape)
        for shape in ("random", "chain", "oblivious")
        for n_leaves in (1, 2, 31, 32, 33, 63, 64, 65, 130)
    ]
    if not with_categories:
        return parts[0].followed_by(*parts[1:])
    # Even features become categories, which two parts of three do not test.
    for i, part in enumerate(parts):
        if i % 3:
            odd = np.where(part.feature >= 0, part.feature | 1, -1).astype(part.feature.dtype)
            parts[i] = replace(part, feature=odd)
    return with_sets(parts[0].followed_by(*parts[1:]), 5, 70)


@pytest.mark.process
@pytest.mark.parametrize("vector_bytes", [0, 16, 32, 64])
@pytest.mark.parametrize("with_categories", [False, True])
def test_same_bits_of_every_shape_and_number_of_documents(vector_bytes, with_categories, tmp_path):
    header = compiled(tmp_path, f"-DRANKGROVE_VECTOR_BYTES={vector_bytes}")
    trees = all_shapes(with_categories)
    model = save(trees, tmp_path / "m.rg")
    X = rows_with_codes(trees, 300, 6, 70) if with_categories else rows_for(trees, 300, 6)
    expected = model.scores(X)
    assert len(np.unique(expected)) > 200
    for n in (*range(41), *range(60, 72), 128, 131, 300):
        found = header.score(tmp_path / "m.rg", X[:n])
        np.testing.assert_array_equal(found.view(np.int64), expected[:n].view(np.int64))


@pytest.mark.process
def test_nodes_with_two_parents_and_thresholds_that_are_nan(header, tmp_path):
    """rankgrove does not write such trees, but a file may hold them: walks say what is right."""
    trees = random_ensemble(1, 4, 20, N_FEATURES)
    save(trees, tmp_path / "m.rg")
    state, arrays = pack(rankgrove.load_model(tmp_path / "m.rg"))
    X = rows_for(trees, 50, 2)
    left = arrays["model/trees/left"].copy()
    threshold = arrays["model/trees/threshold"].copy()
    offsets = arrays["model/trees/tree_offsets"]
    for tree in range(2):
        inner = np.flatnonzero(left[offsets[tree] : offsets[tree + 1]] >= 0) + offsets[tree]
        left[inner] = left[inner].max()  # all splits share the last pair of leaves
    threshold[offsets[2] : offsets[3]] = np.nan
    changed = {"model/trees/left": left, "model/trees/threshold": threshold}
    with (tmp_path / "m.rg").open("wb") as stream:
        write_container(stream, state, {**arrays, **changed})
    walks = compiled(tmp_path, "-DRANKGROVE_VECTOR_BYTES=0")
    expected = walks.score(tmp_path / "m.rg", X)
    np.testing.assert_array_equal(header.score(tmp_path / "m.rg", X), expected)


@pytest.mark.process
@pytest.mark.parametrize("vector_bytes", [16, 64])
def test_zeros_infinities_and_the_smallest_numbers(vector_bytes, tmp_path):
    tiny = np.float32(1e-45)
    odd = np.float32([0, -0.0, tiny, -tiny, 3e38, -3e38, np.inf, -np.inf, np.nan])
    trees = random_ensemble(4, 9, 20, N_FEATURES)
    some = np.arange(0, len(trees.threshold), 2)
    trees.threshold[some] = np.resize(odd[:6], len(some))
    model = save(trees, tmp_path / "m.rg")
    X = np.random.default_rng(1).choice(odd, (200, N_FEATURES))
    header = compiled(tmp_path, f"-DRANKGROVE_VECTOR_BYTES={vector_bytes}")
    found, expected = header.score(tmp_path / "m.rg", X), model.scores(X)
    assert len(np.unique(expected)) > 50
    np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))


@pytest.mark.process
def test_names_are_utf8(header, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, qid = data()
    frame = pandas.DataFrame(X, columns=NAMES)
    rankgrove.MART(n_estimators=1, random_state=0).fit(frame, y, qid=qid).save(tmp_path / "m.rg")
    model, error = header.open(tmp_path / "m.rg")
    assert model, error
    names = [header.c.rankgrove_feature_name(model, j).decode() for j in range(N_FEATURES)]
    assert names == NAMES
    assert header.c.rankgrove_feature_name(model, N_FEATURES) is None
    header.c.rankgrove_close(model)


@pytest.mark.process
def test_other_kinds_are_refused(header, tmp_path, repository):
    path = tmp_path / "m.rg"
    for ranker, message in (
        (rankgrove.RFPair(n_estimators=2, random_state=0), "not a model of trees on documents"),
        (rankgrove.McRank(n_estimators=2, random_state=0), "more than a sum of trees"),
    ):
        fitted(ranker).save(path)
        model, error = header.open(path)
        assert model is None
        assert error.startswith(f"{path}: ")
        assert message in error
    old = repository / "tests" / "formats" / "data" / "version2.rgm"
    assert "format version 2" in header.open(old)[1]
    path.write_bytes(b"no model at all, but long enough")
    assert "not a rankgrove model file" in header.open(path)[1]
    assert "cannot be opened" in header.open(tmp_path / "absent.rg")[1]


@pytest.mark.process
def test_damaged_files_are_refused(header, tmp_path):
    path = tmp_path / "m.rg"
    fitted(rankgrove.MART(n_estimators=2, random_state=0)).save(path)
    whole = path.read_bytes()
    # Arrays that scoring does not read may be damaged without a word.
    read = header.score(path, data()[0])
    rng = np.random.default_rng(1)
    refused = 0
    for place in rng.integers(len(whole), size=300).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        model, error = header.open(path)
        if model:
            header.c.rankgrove_close(model)
            np.testing.assert_array_equal(header.score(path, data()[0]), read)
        else:
            assert error.startswith(str(path))
            refused += 1
    assert refused > 150
    for size in (0, 10, 24, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert header.open(path)[0] is None or size == len(whole) - 1


@pytest.mark.process
@pytest.mark.parametrize("mapped", [True, False])
def test_mutants_do_no_harm(mapped, tmp_path, repository):
    """Under the sanitizers; a file that is not mapped lies in memory whose bounds they know."""
    program = tmp_path / "score_files"
    command = ["cc", "-std=gnu99", "-g", "-O1", f"-I{rankgrove.get_include()}"]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [] if mapped else ["-U__unix__", "-U__APPLE__"]
    source = repository / "tests" / "formats" / "score_files.c"
    if (
        shutil.which("cc") is None
        or subprocess.run(
            [*command, str(source), "-o", str(program), "-lm"], capture_output=True
        ).returncode
    ):
        pytest.skip("there is no C compiler with sanitizers")
    pandas = pytest.importorskip("pandas")
    X, y, qid = data()
    named = rankgrove.MART(n_estimators=5, missing="mean", random_state=0)  # four at once, and one
    named.fit(pandas.DataFrame(X, columns=NAMES), y, qid=qid)
    wide = fitted(rankgrove.RandomForest(n_estimators=2, random_state=0))
    originals = [to_bytes(named), to_bytes(wide)]
    paths = [tmp_path / f"{seed}.rg" for seed in range(600)]
    for seed, path in enumerate(paths):
        path.write_bytes(mutant(originals[seed % 2], np.random.default_rng(seed)))
    run = subprocess.run([program, *paths], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert 60 < int(run.stdout) < 540


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left", 10_000),
        ("left", 0),
        ("feature", N_FEATURES),
        ("feature", -3),
        ("tree_offsets", -1),
        ("tree_offsets", 7),
    ],
)
def test_nonsense_with_right_checksums_is_refused(header, tmp_path, name, value):
    state, arrays = pack(fitted(rankgrove.MART(n_estimators=2, random_state=0)))
    changed = arrays[f"model/trees/{name}"].copy()
    changed[0] = value
    with (tmp_path / "m.rg").open("wb") as stream:
        write_container(stream, state, {**arrays, f"model/trees/{name}": changed})
    model, error = header.open(tmp_path / "m.rg")
    assert model is None
    assert "node 0 of tree 0" in error or "all nodes" in error
