"""Provenance of a model: when, by which version and from which data it was trained.

A record of plain JSON values in ``ranker.provenance_`` and in the model file; None if nobody asked
for one, so that the same fit gives the same file. All keys are optional.

| key | value |
|---|---|
| date | of the training, in UTC (``SOURCE_DATE_EPOCH`` sets it, for reproducible files) |
| version, build | of rankgrove: its version, and a digest of its sources and native module |
| data | training data: rows, queries, features, grades with their counts, and a digest |
| ranges | lowest and highest value of each numeric feature in the training data, by name |
| files | names, bytes and digests of the files that were read |
| validation, test | metrics by name |
| parent | digest of the model that training continued |
| note | free text |
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rankgrove._addresses import FilePath, file_path
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.numbers import finite_ranges
from rankgrove.data.scanning.scan import Ranges, Scan
from rankgrove.errors import ModelError

KEYS = (
    "date",
    "version",
    "build",
    "data",
    "ranges",
    "files",
    "validation",
    "test",
    "parent",
    "note",
)
_DIGEST_BYTES = 16
_MAX_GRADES = 32
_MAX_NOTE = 100_000
_MAX_RANGES = 10_000


def make_provenance(
    *,
    note: str | None = None,
    data: Dataset | None = None,
    files: Iterable[str | os.PathLike[str]] = (),
    parent: str | None = None,
    metrics: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, Any]:
    """Return the record of a training that ends now.

    Parameters
    ----------
    note : free text
    data : the training data in memory
    files : the files that were read
    parent : digest of the model that training continued
    metrics : values of ``validation`` and ``test`` by the name of the metric
    """
    from rankgrove import __version__
    from rankgrove._build import build_digest

    record: dict[str, Any] = {"date": _now(), "version": __version__, "build": build_digest()}
    if data is not None:
        record["data"] = _data_facts(data)
        record["ranges"] = feature_ranges(data)
    record["files"] = [file_facts(file_path(file)) for file in files]
    for part, values in (metrics or {}).items():
        record[part] = {name: float(value) for name, value in values.items()}
    if parent is not None:
        record["parent"] = parent
    if note is not None:
        record["note"] = note
    return checked_provenance({key: value for key, value in record.items() if value})


def checked_provenance(record: Any) -> dict[str, Any]:
    """Check a record of a file or of a caller: known keys and values of JSON."""
    if not isinstance(record, Mapping):
        raise ModelError(f"a provenance is a table of values, not {record!r:.100}")
    for key, value in record.items():
        if key not in KEYS:
            raise ModelError(f"a provenance has no key {key!r:.100}: there are {', '.join(KEYS)}")
        if key in ("date", "version", "build", "parent", "note") and not isinstance(value, str):
            raise ModelError(f"the {key} of a provenance is a text, not {value!r:.100}")
        if key == "note" and len(value) > _MAX_NOTE:
            raise ModelError(f"a note has at most {_MAX_NOTE:,} characters, not {len(value):,}")
        if key == "ranges":
            _check_ranges(value)
        if key in ("data", "validation", "test") and not isinstance(value, Mapping):
            raise ModelError(f"the {key} of a provenance is a table, not {value!r:.100}")
    return dict(record)


def feature_ranges(data: Dataset | Scan) -> dict[str, list[float]]:
    """Return the lowest and the highest finite value of each numeric feature, by name.

    Features without a finite value have none; data of very many features have no ranges at all.
    """
    if data.n_features > _MAX_RANGES:
        return {}
    ranges = data.ranges if isinstance(data, Scan) else _ranges(data.matrix)
    if ranges is None:
        return {}
    columns = data.columns if isinstance(data, Scan) else Columns.of(data)
    low, high = ranges
    return {
        name: [float(low[j]), float(high[j])]
        for j, name in enumerate(columns.all_names)
        if low[j] <= high[j] and j not in columns.categories
    }


def _ranges(X: FeatureMatrix) -> Ranges:
    low = np.full(X.n_columns, np.inf, np.float32)
    high = -low
    if X.entries is not None:
        starts, columns, values, absent = X.entries
        finite = np.isfinite(values)
        np.minimum.at(low, columns[finite], values[finite])
        np.maximum.at(high, columns[finite], values[finite])
        if np.isfinite(absent):
            lacking = np.bincount(columns, minlength=X.n_columns) < len(starts) - 1
            low[lacking] = np.minimum(low[lacking], absent)
            high[lacking] = np.maximum(high[lacking], absent)
        return low, high
    for block in X.row_blocks():
        block_low, block_high = finite_ranges(block)
        low, high = np.minimum(low, block_low), np.maximum(high, block_high)
    return low, high


def _check_ranges(value: Any) -> None:
    if not isinstance(value, Mapping):
        raise ModelError(f"the ranges of a provenance are a table, not {value!r:.100}")
    for name, pair in value.items():
        numbers = isinstance(pair, list) and [type(end) in (int, float) for end in pair]
        if numbers != [True, True] or not -np.inf < pair[0] <= pair[1] < np.inf:
            raise ModelError(f"the range of {name!r:.100} in a provenance is {pair!r:.100}")


def _now() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isdigit() else time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _data_facts(data: Dataset) -> dict[str, Any]:
    grades, counts = np.unique(data.y, return_counts=True)
    facts: dict[str, Any] = {
        "rows": data.n_rows,
        "queries": data.n_queries,
        "features": data.n_features,
        "digest": _judgments_digest(data),
    }
    if len(grades) <= _MAX_GRADES:
        facts["grades"] = {f"{g:g}": int(n) for g, n in zip(grades, counts, strict=True)}
    return facts


def _judgments_digest(data: Dataset) -> str:
    """Return a digest of labels, queries, weights and column names (features take too long)."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    digest.update(repr(data.feature_names).encode())
    digest.update(np.ascontiguousarray(data.y).tobytes())
    digest.update(data.groups.query_of_row().astype("<i8").tobytes())
    digest.update(repr(data.groups.ids.tolist()).encode())
    if data.sample_weight is not None:
        digest.update(data.sample_weight.tobytes())
    return digest.hexdigest()


def file_facts(path: FilePath) -> dict[str, Any]:
    """Return name, size and digest of a file."""
    if not path.is_file():  # a pipe or a folder
        return {"name": path.name}
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"name": path.name, "bytes": path.stat().st_size, "digest": digest.hexdigest()}
