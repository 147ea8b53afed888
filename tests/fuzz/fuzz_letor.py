"""Feeds mutated LETOR text to the native reader and compares it with the slow oracle.

Both must read the same arrays, bit for bit, or both must refuse. Run it alone for long runs::

    python -m tests.fuzz.fuzz_letor --inputs 1000000 --seed 1

A disagreement is written to tests/fuzz/found/ and ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from pathlib import Path

import numpy as np
from tests.oracles import letor_native, letor_text
from tests.oracles.letor_text import Parsed, RefusedError

CORPUS = Path(__file__).with_name("corpus")
FOUND = Path(__file__).with_name("found")

TOKENS = [
    *(b" ", b"\t", b"\n", b"\r\n", b"\r", b"#", b":", b"\0", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80"),
    *(b"qid:", b"qid:1", b"qid:a", b"qid:007", b"qid:-3", b"qid:", b" 0:1", b" 1:1", b" 2:0.5"),
    *(b"NULL", b"nan", b"na", b"inf", b"-inf", b"+nan", b"-na", b"e", b"E+5", b"e-400", b"e400"),
    *(b".", b"-", b"+", b"-0", b"0.0", b"1e38", b"3.4028235e38", b"3.4028236e38", b"1e-46"),
    *(b"1.17549435e-38", b"16777217", b"0.1000000014901161193847656", b"9007199254740993"),
    *(b"33554433.0", b"123456789012345", b"1234567890123456", b"12345678901234567890123"),
    *(b".000000000000001", b"0.00000000000000", b" 65537:1", b" 300000:2", b" 10000001:1"),
    *(b"99999999999999999999", b"# docid = X", b" #", b"\xef\xbb\xbf", b"-1 ", b"0x1"),
]


NUMBER = re.compile(rb"(?<=\d:)[^\s#]+")


def seeds() -> list[bytes]:
    """Texts to mutate."""
    return [path.read_bytes() for path in sorted(CORPUS.iterdir())]


def mutate(text: bytes, rng: random.Random, pool: list[bytes]) -> bytes:
    """Change a text in a few random places."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 6))):
        at = rng.randint(0, len(text))
        to = min(len(text), at + rng.choice((0, 1, 1, 2, 5, 20)))
        kind = rng.randrange(12)
        if kind == 0:
            text = text[:at] + bytes([rng.randrange(256)]) + text[to:]
        elif kind in (1, 2):
            text = text[:at] + rng.choice(TOKENS) + text[to:]
        elif kind == 3:
            text = text[:at] + text[to:]
        elif kind == 4:
            text = text[:to] + text[at:to] + text[to:]
        elif kind == 5:
            other = rng.choice(pool)
            cut = rng.randint(0, len(other))
            text = text[:at] + other[cut : cut + rng.randint(0, 60)] + text[to:]
        elif kind == 6:
            text = text[:at] + random_number(rng) + text[to:]
        elif kind == 7:
            text = text[:at]
        else:
            number = NUMBER.search(text, at)
            if number is not None:
                text = text[: number.start()] + random_number(rng) + text[number.end() :]
    return text[:4000]


def random_number(rng: random.Random) -> bytes:
    """Text of a number, often near a float32 boundary."""
    kind = rng.randrange(4)
    if kind == 0:
        return b"%d" % rng.randrange(10 ** rng.randint(1, 20))
    if kind == 1:
        return f"{rng.uniform(-1, 1) * 10 ** rng.randint(-50, 45):.{rng.randint(0, 20)}g}".encode()
    if kind == 2:
        return f"{rng.random() * 10 ** rng.randint(0, 9):.{rng.randint(0, 14)}f}".encode()
    near = np.array([rng.getrandbits(31)], np.uint32).view(np.float32)[0]
    if not np.isfinite(near):
        return b"inf"
    halfway = (float(near) + float(np.nextafter(near, np.float32(np.inf)))) / 2
    return f"{halfway:.{rng.randint(6, 30)}g}".encode()


def random_options(rng: random.Random) -> dict[str, object]:
    """Ways to read that both parsers understand."""
    return {
        "with_qid": rng.random() < 0.9,
        "n_features": rng.choice((None, None, None, 0, 3, 200)),
        "first_feature": rng.choice((None, None, 0, 1)),
        "keep_comments": rng.random() < 0.8,
        "negative_labels": rng.random() < 0.2,
        "absent": rng.choice((0.0, float("nan"))),
    }


def outcome(parse: object, text: bytes, **options: object) -> Parsed | RefusedError:
    """What a parser makes of the text."""
    try:
        return parse(text, **options)  # type: ignore[operator, no-any-return]
    except RefusedError as error:
        return error


def difference(expected: Parsed, actual: Parsed) -> str | None:
    """What differs in two readings of a text, or None."""
    if expected.first_feature != actual.first_feature:
        return f"first feature {expected.first_feature} or {actual.first_feature}"
    if expected.X.shape != actual.X.shape:
        return f"shape {expected.X.shape} or {actual.X.shape}"
    if not np.array_equal(expected.X, actual.X, equal_nan=True):
        return f"X: {expected.X} or {actual.X}"
    zeros = expected.X == 0
    if not np.array_equal(np.signbit(expected.X[zeros]), np.signbit(actual.X[zeros])):
        return "sign of zero"
    if not np.array_equal(expected.y, actual.y):
        return f"y: {expected.y} or {actual.y}"
    if expected.qid != actual.qid:
        return f"qid: {expected.qid} or {actual.qid}"
    if expected.comments != actual.comments:
        return f"comments: {expected.comments} or {actual.comments}"
    return None


def disagreement(text: bytes, rng: random.Random) -> tuple[bool, str | None]:
    """Whether the native reader reads the text, and how it disagrees with the oracle, or None."""
    options = random_options(rng)
    cuts = sorted(rng.randint(0, len(text)) for _ in range(rng.choice((0, 0, 1, 3))))
    vectorised = rng.random() < 0.7
    actual = outcome(letor_native.parse, text, cuts=cuts, vectorised=vectorised, **options)
    if isinstance(actual, RefusedError) and "do not fit into memory" in str(actual):
        return False, None
    expected = outcome(letor_text.parse, text, **options)
    if isinstance(expected, Parsed) and isinstance(actual, Parsed):
        problem = difference(expected, actual)
    elif isinstance(expected, RefusedError) and isinstance(actual, RefusedError):
        # The oracle judges undeclared feature numbers only after the last line.
        declared = options["n_features"] is None or options["first_feature"] is not None
        same = not declared or expected.line == actual.line
        problem = None if same else f"refused differently: {expected!r} or {actual!r}"
    else:
        problem = f"oracle: {expected!r}, native: {actual!r}"
    if problem is not None:
        problem = f"{problem}\noptions {options}, cuts {cuts}, vectorised {vectorised}\n{text!r}"
    return isinstance(actual, Parsed), problem


def run(n_inputs: int, seed: int, *, report: bool = False) -> tuple[int, str | None]:
    """Try mutated inputs; the number of those that were read, and the first disagreement."""
    rng = random.Random(seed)
    pool = seeds()
    n_read = 0
    start = time.monotonic()
    for i in range(n_inputs):
        text = mutate(rng.choice(pool), rng, pool)
        is_read, problem = disagreement(text, rng)
        if problem is not None:
            FOUND.mkdir(exist_ok=True)
            (FOUND / f"seed{seed}-{i}.txt").write_bytes(text)
            return n_read, f"input {i} of seed {seed}: {problem}"
        n_read += is_read
        if is_read and len(pool) < 2000 and rng.random() < 0.02:
            pool.append(text)
        if report and (i + 1) % 20000 == 0:
            speed = (i + 1) / (time.monotonic() - start)
            print(f"{i + 1} inputs, {n_read} of them read, {speed:.0f} per second", flush=True)
    return n_read, None


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    n_read, problem = run(arguments.inputs, arguments.seed, report=True)
    if problem is not None:
        print(problem, file=sys.stderr)
        return 1
    print(f"{arguments.inputs} inputs, {n_read} read, the others refused by both; no disagreement")
    return 0


if __name__ == "__main__":
    sys.exit(main())
