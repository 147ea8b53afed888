"""The data of a study: files, folders of folds and data sets, as named folds."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import Address, file_path
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.reading.folds import (
    FOLD_ORDERS,
    Fold,
    data_sets,
    fold_numbers,
    kfold,
    load_folds,
    load_folds_of_set,
)
from rankgrove.data.reading.loading import is_folder, is_table, load
from rankgrove.errors import DataError
from rankgrove.experiments.model_categories import naming_models, with_model_categories
from rankgrove.experiments.score_columns import Read, ScoreColumn
from rankgrove.experiments.specs import Spec
from rankgrove.experiments.study_options import NAMES
from rankgrove.experiments.training_files import warn_of_training_files

Rows = npt.NDArray[np.int64]
DEFAULT_FOLDS = 5


class RowsOf(NamedTuple):
    """Row numbers of a part in its file, which also has the rows that reading dropped.

    ``divided``: it is the file that the folds were cut from, not one of the part alone.
    """

    rows: Rows
    n_rows: int
    divided: bool = True


@dataclass(frozen=True, eq=False)
class StudyFold:
    """One fold of one data set of a study.

    Attributes
    ----------
    data : name of the data set
    number : of the fold, from 1; in a folder, that of its name (Fold3)
    parts : what to learn from, choose on and report
    fingerprint : changes with every value, label, weight, position, query or name in it
    test_rows : in the file of the test part; None if they are all of its rows
    scores : of the test rows, by the columns that hold them
    """

    data: str
    number: int
    parts: Fold
    fingerprint: str
    test_rows: RowsOf | None = None
    scores: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StudyData:
    """The origin of the folds of one data set.

    Attributes
    ----------
    name : how tables call the data set
    origin : a file, a folder of folds, a Dataset, a data frame, or a list of Folds
    n_folds : parts into which a single file or Dataset is divided by query
    seed : of that division
    fold_order : ``"random"``, or ``"sorted"`` by query id, which needs no seed
    max_folds : largest number of folds to use; None: all
    label_shift : added to all labels
    options : how to read files, as of ``load``
    score_columns : columns that hold scores made elsewhere
    of_set : one of several data sets in the folder (``set1``); None: it holds one
    model_of_column : the model for which a column is read as categories
    """

    name: str
    origin: Any
    n_folds: int = DEFAULT_FOLDS
    seed: int = 0
    fold_order: str = FOLD_ORDERS[0]
    max_folds: int | None = None
    label_shift: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    score_columns: tuple[str, ...] = ()
    of_set: str | None = None
    model_of_column: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_divided(self) -> bool:
        """Whether the queries are divided here; a folder or a list brings its own folds."""
        if isinstance(self.origin, str | os.PathLike):
            return not is_folder(self.origin)
        return isinstance(self.origin, Dataset) or is_table(self.origin)

    def folds(self) -> Iterator[StudyFold]:
        """Yield the folds, one in memory at a time where they are files."""
        read = self._reading()
        columns = {name: ScoreColumn(name, read, self.options) for name in self.score_columns}
        numbered = zip(self._numbers(), self._parts(), strict=False)
        for number, (parts, places, rows) in islice(numbered, self.max_folds):
            if not parts.validation.n_rows or not parts.test.n_rows:
                raise DataError(f"{self.name}, fold {number}: a part has no rows")
            shifted = Fold(*(_shifted(part, self.label_shift) for part in parts))
            scores = {name: column.of(parts.test, places) for name, column in columns.items()}
            yield StudyFold(self.name, number, shifted, fingerprint(shifted), rows, scores)

    def _reading(self) -> Read | None:
        """Return the options of reading columns beside the features; None if there are none."""
        origin = self.origin
        if is_folder(origin):
            return lambda options: (fold.test for fold in self._folds_of_folder(options))
        if isinstance(origin, str | os.PathLike) or is_table(origin):
            return lambda options: [load(origin, **options)]
        return None

    def _numbers(self) -> Iterator[int]:
        """Return the numbers of the folds: those of Fold1, Fold3 of a folder, else from 1."""
        own = fold_numbers(self.origin) if self.of_set is None and is_folder(self.origin) else []
        return iter(own) if own else count(1)

    def _parts(self) -> Iterator[tuple[Fold, Rows | None, RowsOf | None]]:
        """Yield the folds, the rows of their test parts among those divided, and in their file."""
        with naming_models(self.model_of_column):
            yield from self._read_parts()

    def _read_parts(self) -> Iterator[tuple[Fold, Rows | None, RowsOf | None]]:
        origin = self.origin
        if isinstance(origin, Dataset):
            yield from self._cut(origin, np.arange(origin.n_rows), origin.n_rows)
        elif is_folder(origin):
            for fold in self._folds_of_folder(self._keeping()):
                parts = Fold(*(self._dropped(part)[0] for part in fold))
                rows = RowsOf(self._dropped(fold.test)[1], fold.test.n_rows, divided=False)
                yield parts, None, rows
        elif isinstance(origin, str | os.PathLike) or is_table(origin):
            loaded = load(origin, **self._keeping())
            yield from self._cut(*self._dropped(loaded), loaded.n_rows)
        else:
            yield from ((Fold(*fold), None, None) for fold in origin)

    def _keeping(self) -> Mapping[str, Any]:
        """Return the options of reading, with negative labels that ``_dropped`` drops."""
        drops = self.options.get("negative_labels") == "drop"
        return {**self.options, "negative_labels": "keep"} if drops else self.options

    def _dropped(self, data: Dataset) -> tuple[Dataset, Rows]:
        """Drop rows with negative labels, if the options say so; return also the other rows."""
        if self.options.get("negative_labels") != "drop" or not (data.y < 0).any():
            return data, np.arange(data.n_rows)
        rows = np.flatnonzero(data.y >= 0)
        return data.select_rows(rows), rows

    def _folds_of_folder(self, options: Mapping[str, Any]) -> Iterator[Fold]:
        if self.of_set is None:
            return load_folds(self.origin, **options)
        return load_folds_of_set(self.origin, self.of_set, **options)

    def _cut(
        self, data: Dataset, in_file: Rows, n_in_file: int
    ) -> Iterator[tuple[Fold, Rows, RowsOf]]:
        # Row numbers go the way of the rows, in two columns that float32 holds exactly.
        numbers = np.arange(data.n_rows)
        columns = np.stack([numbers >> 16, numbers & 0xFFFF], axis=1).astype(np.float32)
        how = (self.n_folds, self.seed)
        tags = kfold(data.with_features(columns, None), *how, order=self.fold_order)
        for fold, tag in zip(kfold(data, *how, order=self.fold_order), tags, strict=True):
            high, low = np.asarray(tag.test.X).astype(np.int64).T
            rows = high << 16 | low
            yield fold, rows, RowsOf(in_file[rows], n_in_file)


def read_study_data(data: Any, specs: Sequence[Spec] = (), **options: Any) -> list[StudyData]:
    """Return the data sets of a study with their names.

    Parameters
    ----------
    data : a path, a Dataset, a data frame or a list of Folds; a list of those, or a dict that names
        them. A folder with set1 and set2 of Yahoo! is two data sets
    specs : the rankers of the study; models among them say which columns are categorical
    options : of ``StudyData``
    """
    if isinstance(data, Mapping):
        named = [(str(name), origin) for name, origin in data.items()]
    else:
        origins = _as_list(data)
        named = list(zip(_names(origins), origins, strict=True))
    if not named:
        raise ValueError("there is no data to compare rankers on")
    reading = options.get("options") or {}
    if not all(_in_memory(origin) for _, origin in named):
        options["options"], options["model_of_column"] = with_model_categories(reading, specs)
        warn_of_training_files([origin for _, origin in named], specs)
    elif reading:
        name = next(iter(reading))
        near = difflib.get_close_matches(name, NAMES, n=1)
        raise ValueError(
            f"{name} is no option of a study, and none of reading data counts here: these are in "
            f"memory{f' (did you mean {near[0]!r}?)' if near else ''}"
        )
    return [
        StudyData(name if of_set is None else f"{name} {of_set}", origin, of_set=of_set, **options)
        for name, origin in named
        for of_set in _sets_of(origin)
    ]


def _sets_of(origin: Any) -> list[str] | list[None]:
    """Return the names of the data sets of a folder that holds several, else only None."""
    return (data_sets(origin) if is_folder(origin) else []) or [None]


def _in_memory(origin: Any) -> bool:
    """Return whether the data are in memory: a Dataset or a list of Folds."""
    return not isinstance(origin, str | os.PathLike) and not is_table(origin)


def fingerprint(parts: Sequence[Dataset]) -> str:
    """Return a digest of the content of a fold."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(repr((part.X.shape, part.feature_names)).encode())
        if part.categories:
            digest.update(repr(sorted(part.categories.items())).encode())
        for column in (*part.matrix.arrays(), part.y, part.sample_weight):
            digest.update(b"-" if column is None else np.ascontiguousarray(column).data)
        for name, shown in (("position", part.position), ("propensity", part.propensity)):
            if shown is not None:
                digest.update(name.encode() + np.ascontiguousarray(shown).data)
        if part.has_own_doc_ids and (ids := part.doc_ids) is not None:
            digest.update(repr(ids.tolist()).encode())
        digest.update(repr(part.groups.ids.tolist()).encode())
        digest.update(part.groups.offsets.tobytes())
        digest.update(b"-" if part.groups.order is None else part.groups.order.tobytes())
    return digest.hexdigest()


def _as_list(data: Any) -> list[Any]:
    if isinstance(data, str | os.PathLike | Dataset) or is_table(data):
        return [data]
    if isinstance(data, Fold):
        return [[data]]
    if isinstance(data, tuple) and len(data) == 3 and all(isinstance(d, Dataset) for d in data):
        raise ValueError(
            "three Datasets in a tuple may be one fold or three data sets: give a Fold (of "
            "rankgrove.data.reading.folds) as kfold makes them, or a list of three"
        )
    if not isinstance(data, Iterable):
        raise DataError(f"data must be a path, a Dataset or a list of folds, not {data!r:.60}")
    entries = list(data)
    folds = entries and all(isinstance(entry, Fold) for entry in entries)
    return [entries] if folds else entries


def _names(origins: Sequence[Any]) -> list[str]:
    """Return the shortest unambiguous form of each name, else one with a number."""
    forms = [_forms(origin) for origin in origins]
    names = []
    for mine in forms:
        counts = [[other[i] for other in forms].count(form) for i, form in enumerate(mine)]
        names.append(mine[counts.index(1) if 1 in counts else -1])
    return [f"{a} ({i})" if names.count(a) > 1 else a for i, a in enumerate(names, 1)]


def _forms(origin: Any) -> tuple[str, str, str]:
    """Return the names of a data set: of a file without its ending, with it, with its folder."""
    if not isinstance(origin, str | os.PathLike):
        return ("data",) * 3
    place = file_path(origin)
    path = PurePosixPath(str(place)) if isinstance(place, Address) else place.resolve()
    stem = path.name.split(".")[0]
    return stem, path.name, f"{path.parent.name}/{stem}"


def _shifted(data: Dataset, shift: int) -> Dataset:
    """Return the same documents with all labels raised; the feature matrix is shared."""
    if shift == 0:
        return data
    other = data.with_features(data.matrix, data.feature_names)
    other.y = data.y + shift
    return other
