"""Mutates model files: each mutant must give a ModelError or a model that predicts.

    PYTHONPATH=src:. python tests/fuzz/mutate_models.py 100000

Half of the mutants get their checksums made right again, so that what lies behind them is reached.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.oracles.ensembles import random_ensemble

from rankgrove.errors import ModelError
from rankgrove.formats.container import PRELUDE, load_model, to_bytes
from rankgrove.rankers.base.imported import ImportedRanker
from rankgrove.trees.ensemble import TreeEnsemble

EXTREMES = [-1, 0, 1, 2, 255, 2**31 - 1, -(2**31), 2**62, 1e308, None, "", [], {}, "x", True]


def resealed(data: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """Change the header and make all checksums right."""
    magic, version, length, _, zero = PRELUDE.unpack_from(data)
    header = json.loads(data[PRELUDE.size : PRELUDE.size + length])
    begin = PRELUDE.size + length
    body = data[begin:]
    change(header)
    table = header.get("arrays")
    for entry in table if isinstance(table, list) else []:
        with contextlib.suppress(TypeError, ValueError, OverflowError, KeyError):
            size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
            entry["crc32"] = zlib.crc32(body[entry["offset"] : entry["offset"] + size])
    text = json.dumps(header).encode()
    text += b" " * (-(PRELUDE.size + len(text)) % 64)
    return PRELUDE.pack(magic, version, len(text), zlib.crc32(text), zero) + text + body


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    kind = rng.integers(6)
    if kind == 0:
        return data[: rng.integers(len(data))]
    if kind == 1:
        return resealed(data, lambda header: mutate_value(header, rng))
    mutated = bytearray(data)
    begin = PRELUDE.size + PRELUDE.unpack_from(data)[2] if kind >= 3 else 0
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(begin, len(data)))
        if rng.integers(2):
            mutated[at] = rng.integers(256)
        else:
            at -= at % 4
            word = rng.choice([0, 0xFFFFFFFF, 0x7F800000, 0x7FC00000, 0x7FFFFFFF, 1, 2, 0x10000])
            mutated[at : at + 4] = int(word).to_bytes(4, "little")
    if kind == 2:
        return bytes(mutated)
    return resealed(bytes(mutated), lambda header: None)


def mutate_value(value: Any, rng: np.random.Generator) -> None:
    """Replace, drop or repeat one value somewhere inside a JSON value."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.8:
            value = value[key]
            continue
        choice = rng.integers(4)
        if choice == 0:
            del value[key]
        elif choice == 1 and isinstance(value, list):
            value.append(value[key])
        elif choice == 2 and isinstance(value[key], int):
            value[key] += int(rng.choice([-1, 1, 64, -64]))
        else:
            value[key] = EXTREMES[rng.integers(len(EXTREMES))]
        return


def survives(data: bytes, seed: int, path: Path) -> bool:
    """Load and use one mutant; True if it is still a model. Anything but a ModelError comes out."""
    rng = np.random.default_rng(seed)
    path.write_bytes(mutant(data, rng))
    try:
        model = load_model(path, mmap=bool(seed % 2))
    except ModelError:
        return False
    n_features = model.n_features_in_
    if n_features > 1000:
        return True
    X = rng.normal(size=(40, n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    model.predict(X)
    return True


def compact(ensemble: TreeEnsemble) -> TreeEnsemble:
    """Return the trees in the narrow types of forests."""
    return dataclasses.replace(
        ensemble,
        feature=ensemble.feature.astype(np.int16),
        value=ensemble.value.astype(np.float32),
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    ensembles = [
        random_ensemble(1, 4, 6),
        random_ensemble(2, 2, 8, shape="oblivious"),
        random_ensemble(3, 2, 300),
    ]
    ensembles += [compact(ensemble) for ensemble in ensembles]
    originals = [to_bytes(ImportedRanker.from_ensemble(trees, "a test")) for trees in ensembles]
    models = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(count):
            models += survives(originals[seed % len(originals)], seed, Path(folder) / "mutant.rgm")
    print(f"{count} mutants: {count - models} clean errors, {models} models that predict")


if __name__ == "__main__":
    main()
