"""Files of scores: one number per row of a data set."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError


def read_scores(path: str | Path, n_rows: int) -> npt.NDArray[np.float64]:
    """Read ``n_rows`` finite scores from text (one per line, also .gz), .npy, or ``-`` (stdin)."""
    name = "standard input" if str(path) == "-" else str(path)
    scores = _read_npy(Path(path)) if name.endswith(".npy") else _read_text(path, name)
    if len(scores) != n_rows:
        raise DataError(f"{name} has {len(scores)} scores, but the data has {n_rows} rows")
    finite = np.isfinite(scores)
    if not finite.all():
        place = int(np.flatnonzero(~finite)[0])
        raise DataError(f"{name}: score {place + 1} is {scores[place]}, not a finite number")
    return scores


def _read_npy(path: Path) -> npt.NDArray[np.float64]:
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{path} is not a .npy file of numbers: {error}") from None
    if values.ndim != 1 or values.dtype.kind not in "fiu":
        raise DataError(f"{path} must hold one score per row, not {values.dtype}{values.shape}")
    return np.asarray(values, np.float64)


def _read_text(path: str | Path, name: str) -> npt.NDArray[np.float64]:
    if str(path) == "-":
        content = sys.stdin.buffer.read()
    elif name.endswith(".gz"):
        try:
            content = gzip.decompress(Path(path).read_bytes())
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{name} is not a whole gzip file: {error}") from None
    else:
        content = Path(path).read_bytes()
    lines = content.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        return np.fromiter(map(float, lines), np.float64, len(lines))
    except ValueError:
        raise DataError(_first_bad_line(lines, name)) from None


def _first_bad_line(lines: list[bytes], name: str) -> str:
    number = next(i for i, line in enumerate(lines) if not _is_number(line))
    text = lines[number][:60].decode("utf-8", "replace")
    return f"{name}, line {number + 1}: {text!r} is not one number"


def _is_number(line: bytes) -> bool:
    try:
        float(line)
    except ValueError:
        return False
    return True
