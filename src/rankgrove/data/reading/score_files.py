"""Files of scores: one number per row of a data set."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import FilePath, file_path, printable
from rankgrove.data.reading.byte_stream import ByteStream, open_bytes, open_standard_input
from rankgrove.data.reading.lines import whole_lines
from rankgrove.data.reading.numerals import float_of
from rankgrove.data.reading.paths import require_file
from rankgrove.errors import DataError


def read_scores(path: str | FilePath, n_rows: int) -> npt.NDArray[np.float64]:
    """Read ``n_rows`` finite scores from text (one per line, also compressed), .npy, or ``-``.

    ``-`` is standard input. No more bytes are read than this many scores can take.
    """
    name = "standard input" if str(path) == "-" else printable(str(path))
    if name.endswith(".npy"):
        scores = _read_npy(file_path(path), n_rows)
    else:
        with open_standard_input() if str(path) == "-" else open_bytes(file_path(path)) as stream:
            scores = _read_text(stream, name, n_rows)
    finite = np.isfinite(scores)
    if not finite.all():
        place = int(np.flatnonzero(~finite)[0])
        raise DataError(f"{name}: score {place + 1} is {scores[place]}, not a finite number")
    return scores


def _read_npy(path: FilePath, n_rows: int) -> npt.NDArray[np.float64]:
    require_file(path)
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read_header = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
            shape, _, dtype = read_header(file)
            if len(shape) != 1 or dtype.kind not in "fiu":
                raise DataError(f"{path} must hold one score per row, not {dtype}{shape}")
            _check_count(str(path), shape[0], n_rows)
            file.seek(0)
            return np.asarray(np.load(file, allow_pickle=False), np.float64)
    except DataError:
        raise
    except (ValueError, EOFError, AttributeError, OSError) as error:
        raise DataError(f"{path} is not a .npy file of numbers: {error}") from None


def _check_count(name: str, n_scores: int, n_rows: int) -> None:
    if n_scores != n_rows:
        more = "more than " if n_scores > n_rows else ""
        shown = min(n_scores, n_rows) if more else n_scores
        raise DataError(f"{name} has {more}{shown} scores, but the data has {n_rows} rows")


def _read_text(stream: ByteStream, name: str, n_rows: int) -> npt.NDArray[np.float64]:
    scores = np.empty(n_rows, np.float64)
    filled = blank = 0  # lines that held a score; blank lines after them
    for block in whole_lines(stream):
        lines = block.tobytes().splitlines()
        n_lines = len(lines)
        if filled == blank == 0 and lines[:1] == [b"RGROVE"]:
            raise DataError(
                f"{name} is a model, not a file of scores: `rankgrove predict` makes scores with it"
            )
        if filled == 0 and lines and lines[0].strip() and not _is_number(lines[0]):
            raise DataError(_first_bad_line(lines[:1], name, 0))  # perhaps a header
        while lines and not lines[-1].strip():
            lines.pop()
        if lines and blank:
            raise DataError(f"{name}, line {filled + 1}: '' is not one number")
        blank += n_lines - len(lines)
        end = filled + len(lines)
        if end > n_rows:
            _check_count(name, end, n_rows)
        try:
            scores[filled:end] = np.fromiter(map(float_of, lines), np.float64, len(lines))
        except ValueError:
            raise DataError(_first_bad_line(lines, name, filled)) from None
        filled = end
    _check_count(name, filled, n_rows)
    return scores


def _first_bad_line(lines: list[bytes], name: str, lines_before: int) -> str:
    number = next(i for i, line in enumerate(lines) if not _is_number(line))
    text = lines[number][:60].decode("utf-8", "replace")
    return f"{name}, line {lines_before + number + 1}: {text!r} is not one number"


def _is_number(line: bytes) -> bool:
    try:
        float_of(line)
    except ValueError:
        return False
    return True
