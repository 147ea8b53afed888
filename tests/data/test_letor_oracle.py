"""LETOR text reads as the slow oracle reads it."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz import fuzz_letor
from tests.oracles import letor_native, letor_text

import rankgrove as rg


@pytest.mark.parametrize("vectorised", [True, False])
def test_numbers_of_every_length_are_rounded_correctly(vectorised):
    rng = np.random.default_rng(5)
    texts = [b"%.*f" % (d, v) for d in range(16) for v in rng.uniform(-10, 10, 40)]
    texts += [b"%d" % v for v in rng.integers(-(10**17), 10**17, 200)]
    texts += [b"%d" % (2**24 + i) for i in range(8)] + [b".5", b"5.", b"-.25", b"-0", b"1e-3"]
    texts += [b"%.17g" % ((2**23 + i + 0.5) / 2**23) for i in range(200)]
    text = b"".join(b"0 qid:1 1:%s\n" % t for t in texts)
    actual = letor_native.parse(text, vectorised=vectorised).X[:, 0]
    expected = np.array([letor_text.nearest_float32(t) for t in texts])
    np.testing.assert_array_equal(actual.view(np.uint32), expected.view(np.uint32))


def same_as_oracle(data: rg.Dataset, text: bytes, **options) -> None:
    expected = letor_text.parse(text, **options)
    np.testing.assert_array_equal(data.X.view(np.uint32), expected.X.view(np.uint32))
    np.testing.assert_array_equal(data.y, expected.y)
    assert data.qid.tolist() == expected.qid
    if data.comments is not None:
        assert data.comments.tolist() == expected.comments


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["mq2008/S1.txt.gz", "ohsumed/Feature-null/S2.txt.gz", "mslr-web10k-sample/extra_25q.txt.gz"],
)
def test_real_files_equal_the_oracle(letor_data: Path, name):
    text = gzip.decompress((letor_data / name).read_bytes())
    text = b"\n".join(text.split(b"\n")[:400])
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.txt"
        path.write_bytes(text)
        same_as_oracle(rg.load(path), text)


@pytest.mark.slow
@settings(max_examples=300)
@given(
    tokens=st.lists(
        st.sampled_from([*fuzz_letor.TOKENS, b"0 qid:1", b"1 qid:x", b"\n", b"\n2 qid:1 1:1"])
        | st.integers(0, 12).map(lambda number: b" %d:" % number)
        | st.floats(width=32).map(lambda value: repr(value).encode())
        | st.binary(max_size=3)
    ),
    seed=st.integers(0, 1000),
)
def test_any_text_reads_as_the_oracle_reads_it(tokens, seed):
    _, problem = fuzz_letor.disagreement(b"0 qid:1" + b"".join(tokens), random.Random(seed))
    assert problem is None


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [2, 5])
def test_threads_do_not_change_the_result(n_threads):
    rng = np.random.default_rng(1)
    lines = [
        b"%d qid:%s %s%s\n"
        % (
            rng.integers(5),
            rng.choice([b"1", b"q-2", b"33", b"04"]),
            b" ".join(b"%d:%.6g" % (j, rng.normal()) for j in np.flatnonzero(rng.random(40) < 0.8)),
            b" #%d" % i if i % 3 else b"",
        )
        for i in range(4000)
    ]
    text = b"".join(lines)
    assert len(text) > 4 * 256 * 1024  # several parts
    one = letor_native.parse(text)
    many = letor_native.parse(text, n_threads=n_threads, cuts=[700_000])
    assert fuzz_letor.difference(one, many) is None


@pytest.mark.slow
def test_mutated_text_reads_as_the_oracle_reads_it():
    n_read, problem = fuzz_letor.run(2500, seed=0)
    assert problem is None
    assert n_read > 200
