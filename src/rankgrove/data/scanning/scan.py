"""``scan``: out-of-core ranking data, which are read batch by batch whenever they are used.

Life of a scan: it is created from paths or batches and options, without reading anything. ``read``
(called by a fit) reads the source once, writes the features to a temporary file (unless they are
few: see ``small_bytes``) and collects labels and queries; results computed from the features later
(bins, codes) are stored with them, in the cache folder if there is one. ``batches`` (called by
``predict``) reads the source and stores nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import FilePath, file_path
from rankgrove._memory import release_memory
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import (
    Dataset,
    SharedQueries,
    concatenate,
)
from rankgrove.data.core.names import default_feature_names
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.core.row_batch import OPTIONAL_SIDES, RowBatch
from rankgrove.data.matrix.cache import (
    Arrays,
    CacheEntry,
    FolderCacheEntry,
    TemporaryCacheEntry,
    cache_folder,
)
from rankgrove.data.matrix.disk_matrix import DiskMatrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.streamed import StreamedMatrix, small_bytes
from rankgrove.data.reading.lake_tables import lake_batches
from rankgrove.data.reading.letor import declared_features
from rankgrove.data.reading.loading import (
    files_in,
    has_categories,
    is_folder,
    is_paths,
    load_batches,
)
from rankgrove.data.reading.options import (
    LoadOptions,
    ScanArguments,
    load_options,
    takes_options,
)
from rankgrove.data.reading.readers import reader_of
from rankgrove.data.scanning.batch_dictionaries import BatchDictionaries, scanned_categories
from rankgrove.data.scanning.cache_key import file_key
from rankgrove.data.scanning.row_batches import (
    Judgments,
    batch_of_dataset,
    batch_of_object,
    in_one_order,
)
from rankgrove.errors import DataError

Ranges = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


@takes_options(ScanArguments)
def scan(source: Any, *, cache: str | os.PathLike[str] | None = None, **options: Any) -> Scan:
    """Declare out-of-core ranking data, which are read lazily, batch by batch.

    The result can be passed to ``fit``, ``predict``, ``score`` and ``eval_set`` in place of a
    Dataset. The documents of a query must be contiguous.

    Parameters
    ----------
    source : a path or an address, a list of them, or a folder, of the formats of ``load``; or
        batches: a function that returns an iterator of them each time it is called, or an iterator
        (which can be used once); or a table of deltalake or pyiceberg, or a pyarrow data set. A
        batch is a tuple ``(X, y, qid)`` or ``(X, y, qid, weight)``, a Dataset, or a pandas, polars
        or Arrow table.
    OPTIONS
    """
    return Scan(_files_or_batches(source), load_options(options), cache_folder(cache))


def as_scan(value: Any, **options: Any) -> Any:
    """Return a scan of paths or batches; return anything else unchanged."""
    if type(value) is np.ndarray:  # the usual case
        return value
    is_source = isinstance(value, (str, os.PathLike)) or is_paths(value) or _is_batches(value)
    if is_source or lake_batches(value) is not None:
        return scan(value, **options)
    return value


def _is_batches(value: Any) -> bool:
    return isinstance(value, Iterator) or (callable(value) and not hasattr(value, "__array__"))


def _files_or_batches(source: Any) -> list[FilePath] | Callable[[], Iterable[Any]]:
    """Return the files, or the function that makes batches."""
    if isinstance(source, (str, os.PathLike)):
        return _files(source)
    if is_paths(source):
        return [file for path in source for file in _files(path)]
    if (batches := lake_batches(source)) is not None:
        return batches
    if isinstance(source, Iterator):
        return _Once(source)
    if callable(source):
        made: Callable[[], Iterable[Any]] = source
        return made
    raise DataError(
        "scan takes paths, an iterator of batches or a function that makes one, not "
        f"{type(source).__name__}"
    )


def _files(path: str | os.PathLike[str]) -> list[FilePath]:
    """Return the file of a path, or the files of a folder."""
    return files_in(file_path(path)) if is_folder(path) else [file_path(path)]


class _Once:
    """A function that returns an iterator, and raises when it is called a second time."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches: Iterator[Any] | None = batches

    def __call__(self) -> Iterator[Any]:
        batches, self._batches = self._batches, None
        if batches is None:
            raise DataError(
                "this iterator of batches was used before: give a function that makes one each "
                "time it is called"
            )
        return batches


class Scan:
    """Lazily read ranking data: a Dataset whose feature matrix is streamed.

    With ``like``, data are read as the model's were, unless options say otherwise.
    """

    doc_ids = None

    def __init__(
        self,
        source: list[FilePath] | Callable[[], Iterable[Any]],
        options: LoadOptions,
        cache: Path | None,
    ) -> None:
        self._source = source
        self._options = options
        self._cache = cache
        self._key: str | None = None
        self._input: RankingInput | None = None
        self._ranges: Ranges | None = None

    def like(self, columns: Columns, absent: Any, what: str) -> Scan:
        """Return a scan of the same source with these columns, read as those of a model were."""
        own = self._options.like
        if own is not None and own != columns:
            raise DataError(f"{what}: this scan was made with like=, for other columns")
        given = self._options.absent
        if None not in (absent, given) and absent != given:
            raise DataError(
                f"{what}: features absent from the text are read as {given!r}, but as "
                f"{absent!r} when the model was trained: scan the data with absent={absent!r}"
            )
        if own == columns:
            return self
        return self._with(replace(self._options, like=columns, absent_like=absent))

    @property
    def shared_queries(self) -> SharedQueries:
        """The rule for a query id that occurs in several files."""
        return self._options.shared_queries

    def unlabelled(self, *, needs_queries: bool) -> Scan:
        """Return a scan that reads no labels, and queries only if they matter."""
        unread = frozenset({"label"} if needs_queries else {"label", "query"})
        return self._with(replace(self._options, unread=unread))

    def judgments(self) -> Dataset:
        """Read only labels and queries."""
        columns: dict[str, Any] = dict.fromkeys(
            ("like", "feature_names", "n_features", "first_feature", "ignore", "absent")
        )
        options = replace(self._options, features=[], absent_like=None, **columns)
        if callable(self._source):
            one = Judgments(self.shared_queries)
            for batch in self.batches():
                one.add(batch)
            found = one.finished()
            sizes = np.diff(found["offsets"])
            return Dataset(
                np.empty((len(found["y"]), 0), np.float32),
                found["y"],
                np.repeat(found["ids"], sizes),
            )
        parts = [data for path in self._source for data in load_batches(path, options, whole=True)]
        return concatenate(parts, self.shared_queries)

    def _with(self, options: LoadOptions) -> Scan:
        return Scan(self._source, options, self._cache)

    def batches(self, *, matched: bool = True, sparse: bool | None = None) -> Iterator[RowBatch]:
        """Yield the source batch by batch; a batch may end within a query.

        Parameters
        ----------
        matched : every batch must have the columns of ``like`` already. Text without a declared
            number of features is then read as a whole.
        sparse : as in ``load``, for text
        """
        return in_one_order(self._batches_as_read(matched, sparse))

    def _batches_as_read(self, matched: bool, sparse: bool | None) -> Iterator[RowBatch]:
        if callable(self._source):
            for number, batch in enumerate(self._source()):
                yield batch_of_object(batch, number, self._options)
            return
        for number, path in enumerate(self._source):
            text = (
                reader_of(path, self._options.format).name == "letor"
                and self._options.features is None
            )
            coded = has_categories(self._options.like)
            whole = (matched or coded) and text and None in declared_features(self._options)
            options = replace(self._options, sparse=sparse) if text else self._options
            for data in load_batches(path, options, whole=whole):
                yield batch_of_dataset(data, number, text and not (whole or coded))

    def read(self) -> RankingInput:
        """Read the source, unless it was read before and has not changed."""
        key = self._cache_key()
        if self._input is None or self._key != key:
            self._input, self._key = self._read(key), key
        return self._input

    def _cache_key(self) -> str | None:
        """Describe files and options; None for batches, which have no key."""
        if callable(self._source):
            return None
        return f"{self._options.cache_key()}\n" + "\n".join(file_key(path) for path in self._source)

    def _read(self, key: str | None) -> RankingInput:
        entry: CacheEntry = TemporaryCacheEntry()
        if self._cache is not None and key is not None:
            entry = FolderCacheEntry(self._cache, key)
        written: list[DiskMatrix] = []

        def make() -> Arrays:
            values, arrays = self._written(entry, key)
            written.append(values)
            return arrays

        arrays = entry.arrays("rows", make)
        self._ranges = (arrays["low"], arrays["high"]) if "low" in arrays else None
        groups = QueryGroups(arrays["offsets"], None, arrays["ids"])
        names = tuple(arrays["names"].tolist()) if "names" in arrays else None
        maps, categories = scanned_categories(arrays)
        columns = Columns(names, int(arrays["n_features"]), categories=categories)
        absent: Any = str(arrays["absent"]) or None
        again = self._with(self._options)
        shape = (groups.n_rows, columns.count)
        X = StreamedMatrix(shape, entry, lambda: again._written(entry, key)[0], names)
        for values in written:
            X.set_values(values)
        return RankingInput(
            X=X.map_columns(maps, categories) if categories else X,
            y=arrays["y"],
            groups=groups,
            **{name: arrays.get(name) for name in OPTIONAL_SIDES},
            columns=columns,
            absent=absent,
            n_given=groups.n_rows,
        )

    def _written(self, entry: CacheEntry, key: str | None) -> tuple[DiskMatrix, Arrays]:
        """Read the source once: features to a temporary file, the rest to arrays."""
        nothing = np.nan if self._options.absent_value == "missing" else 0.0
        values = DiskMatrix(entry.folder, nothing, small_bytes())
        judgments = Judgments(self.shared_queries)
        dictionaries = BatchDictionaries(fixed=has_categories(self._options.like))
        self._read_batches(values, judgments, dictionaries)
        if self._cache_key() != key:
            raise DataError(f"{self!r}: the data have changed since they were first read")
        arrays = judgments.finished()
        first = judgments.first
        names = first.names
        numbers: Sequence[int] = range(first.X.n_columns)
        if first.is_text:
            names, numbers = self._text_columns(judgments)
        values.finish(numbers)
        release_memory()  # what reading took is not needed for learning
        arrays["low"], arrays["high"] = values.ranges()
        arrays["n_features"] = np.array(len(numbers))
        if names is not None:
            arrays["names"] = np.array(names, str)
        arrays["absent"] = np.array(first.absent or "")
        return values, arrays | dictionaries.finished()

    def _read_batches(
        self, values: DiskMatrix, judgments: Judgments, dictionaries: BatchDictionaries
    ) -> None:
        """Read all batches."""
        by_columns = self._with(replace(self._options, by_columns=True))
        for batch in by_columns.batches(matched=False, sparse=False):
            X = dictionaries.coded(batch)
            if callable(self._source):  # whoever makes batches may use their memory again
                X = np.array(X, order="F")
            judgments.add(batch)
            values.append(X, batch.first_column)

    def _text_columns(self, judgments: Judgments) -> tuple[tuple[str, ...], Sequence[int]]:
        """Return names and numbers of the features of text, after all of it was read."""
        options = self._options
        first, count = judgments.text_columns(declared_features(options)[0])
        given = options.feature_names
        names = default_feature_names(count, first) if given is None else tuple(map(str, given))
        if options.like is None:
            return names, range(first, first + count)
        places = options.like.places_in(Columns(names, count), judgments.first.source)
        return options.like.names or names, [first + int(place) for place in places]

    @property
    def X(self) -> FeatureMatrix:  # noqa: N802 - as in a Dataset
        """The features."""
        return self.read().X

    @property
    def y(self) -> npt.NDArray[np.float64]:
        """The labels."""
        return self.read().y

    @property
    def groups(self) -> QueryGroups:
        """The queries."""
        return self.read().groups

    @property
    def sample_weight(self) -> npt.NDArray[np.float64] | None:
        """The weights of the rows, if there are any."""
        return self.read().weight

    @property
    def ranges(self) -> Ranges | None:
        """Lowest and highest finite value of each column (inf and -inf without one), if known."""
        self.read()
        return self._ranges

    @property
    def columns(self) -> Columns:
        """The columns of X."""
        return self.read().columns

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.groups.n_rows

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_queries

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.columns.count

    def __repr__(self) -> str:
        if callable(self._source):
            return "<Scan of batches>"
        return f"<Scan of {' + '.join(map(str, self._source))}>"
