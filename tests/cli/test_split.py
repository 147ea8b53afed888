"""``rankgrove split``."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking

SPLIT = "split data.txt --share 0.6 0.2 0.2 --seed 1 --out"


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    rg.write_letor(make_ranking(30, n_features=4, seed=1), tmp_path / "data.txt")
    monkeypatch.chdir(tmp_path)

    def call(words):
        code = main(words.split())
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("names", ["a.txt b.txt c.txt", "a.parquet b.svm.gz c.letor.zst"])
def test_the_files_are_the_parts_of_the_python_function(run, names):
    code, out, err = run(f"{SPLIT} {names}")
    assert (code, err) == (0, "")
    parts = rg.split(rg.load("data.txt"), [0.6, 0.2, 0.2], seed=1)
    for name, part, line in zip(names.split(), parts, out.splitlines(), strict=True):
        written = rg.load(name)
        assert np.array_equal(written.X, part.X)
        assert np.array_equal(written.y, part.y)
        assert written.qid.tolist() == part.qid.tolist()
        assert line.startswith(f"{name}: {part.n_rows} rows, {part.n_queries} queries, 4 features")


def test_every_line_of_the_file_is_in_one_part(run, tmp_path):
    assert run(f"{SPLIT} a.txt b.txt c.txt")[0] == 0
    parts = "".join((tmp_path / f"{name}.txt").read_text() for name in "abc")
    assert sorted(parts.splitlines()) == sorted((tmp_path / "data.txt").read_text().splitlines())


def test_the_seed_decides_the_parts(run, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run(f"split data.txt --share 0.5 0.5 --seed {seed} --out {name}.txt x.txt")[0] == 0
    first, again, other = ((tmp_path / f"{name}.txt").read_bytes() for name in "abc")
    assert first == again != other


def test_json_has_the_sizes_of_all_parts(run):
    parts = json.loads(run(f"{SPLIT} a.txt b.txt c.txt --json")[1])["parts"]
    assert [(part["output"], part["queries"]) for part in parts] == [
        ("a.txt", 18),
        ("b.txt", 6),
        ("c.txt", 6),
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--share 0.5 0.5 --out a.txt", "--share has 2 values and --out 1 names"),
        ("--share 0.5 0.6 --out a.txt b.txt", "shares must sum to 1, but 0.5, 0.6 sum to 1.1"),
        ("--share 0.99 0.01 --out a.txt b.txt", "the parts would have 30, 0 queries"),
        ("--share 0.5 0.5 --out a.txt ./a.txt", "./a.txt would be written twice"),
        ("--share 0.5 0.5 --out a.txt data.txt", "data.txt is read here, and would be lost"),
        ("--share 0.5 0.5 --out a.txt no/b.txt", "there is no folder for this file"),
        ("--share 0.5 0.5 --out a.txt b.parquet --omit zero", "--omit is for LETOR text"),
        ("--share 0.5 0.5 --out a.txt b.txt --seed -1", "seed must be at least 0, not -1"),
    ],
)
def test_what_is_refused_writes_nothing(run, tmp_path, words, message):
    before = (tmp_path / "data.txt").read_bytes()
    code, out, err = run(f"split data.txt {words}")
    assert (code, out) == (1, "")
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]
    assert (tmp_path / "data.txt").read_bytes() == before


@pytest.mark.process
@pytest.mark.parametrize("old", [None, b"an old file"])
def test_if_one_file_cannot_be_written_none_is(run, tmp_path, old):
    """The first part is small enough for the limit of a file's size, the second is not."""
    for name in ("a.txt", "b.txt") if old else ():
        (tmp_path / name).write_bytes(old)
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))\n"
        "from rankgrove.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = ["split", "data.txt", "--share", "0.1", "0.9", "--out", "a.txt", "b.txt"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (done.returncode, "b.txt: File too large" in done.stderr) == (1, True), done.stderr
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "data.txt"}
    assert left == ({"a.txt": old, "b.txt": old} if old else {})
