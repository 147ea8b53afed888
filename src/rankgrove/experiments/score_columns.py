"""Scores from columns of the data: features, or other columns of its tables.

A column keeps the part that it plays in the data: one that is a feature stays one for the rankers
that are trained, and one that is none (ignored, not among ``features``) is read beside the data,
in float64, and reaches nothing but the measurement.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.numbers import GRADES_HINT
from rankgrove.errors import DataError, DataWarning

Floats = npt.NDArray[np.float64]
# How the same rows are read with other options: the test part of each fold, or one whole file.
Read = Callable[[Mapping[str, Any]], Iterable[Dataset]]


class ScoreColumn:
    """One column of scores, read fold by fold.

    Parameters
    ----------
    name : of the column; a feature of LETOR text may be named by its number
    read : how to read what is no feature; None if the data has nothing but features
    options : how the data is read, as of ``load``
    """

    def __init__(self, name: str, read: Read | None, options: Mapping[str, Any]) -> None:
        self._name, self._read, self._options = name, read, options
        self._parts: Iterator[Floats] | None = None
        self._whole: Floats | None = None
        self._warned = False

    def of(self, test: Dataset, rows: npt.NDArray[np.int64] | None) -> Floats:
        """Return the scores of the next fold's test part, at ``rows`` of the one file, if any."""
        names, name = test.feature_names, self._name
        for spelling in (name, f"f{name}") if name.isdigit() else (name,):
            if spelling in names:
                return self._of_feature(test, names.index(spelling))
        if self._read is None:
            raise _no_such_column(test, name)
        try:
            self._parts = self._parts or self._of_column(self._read)
            if rows is None:
                return next(self._parts)
            self._whole = next(self._parts) if self._whole is None else self._whole
            return self._whole[rows]
        except DataError as error:
            said = str(error).removesuffix(GRADES_HINT)
            raise DataError(f"scores of column {name!r}: {said}") from None
        except ValueError:  # text, which takes no names of columns
            raise _no_such_column(test, name) from None

    def _of_feature(self, test: Dataset, place: int) -> Floats:
        if test.absent is None and self._read and not self._warned and self._is_unnamed():
            self._warned = True
            warnings.warn(
                f"the column {self._name!r}, which is compared as scores made elsewhere, is a "
                f"feature, too: rankers learn from it (ignore=[{self._name!r}] keeps it from them; "
                "naming features= ends this warning)",
                DataWarning,
                stacklevel=2,
            )
        column = test.matrix.take_columns(place, place + 1)
        scores: Floats = np.asarray(column, np.float64).reshape(-1)
        missing = np.flatnonzero(~np.isfinite(scores))
        if len(missing):
            row = int(missing[0])
            raise DataError(
                f"scores of column {self._name!r} must be finite numbers: one of query "
                f"{test.qid[row]} is {scores[row]}"
            )
        return scores

    def _is_unnamed(self) -> bool:
        return self._options.get("features") is None

    def _of_column(self, read: Read) -> Iterator[Floats]:
        """Read the scores through the label column, which holds exact finite numbers."""
        drops = self._options.get("negative_labels") == "drop"
        others = {k: v for k, v in self._options.items() if k not in ("y", "ignore")}
        others |= {"features": [], "negative_labels": "keep"}
        scored = read({**others, "label": self._name})
        if not drops:
            yield from (part.y for part in scored)
            return
        judged = read({**others, "y": self._options.get("y")})
        for part, labels in zip(scored, judged, strict=True):
            yield part.y[labels.y >= 0]


def _no_such_column(data: Dataset, name: str) -> DataError:
    names = data.feature_names
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return DataError(f"there is no column {name!r} of scores in {data!r}: features are {shown}")
