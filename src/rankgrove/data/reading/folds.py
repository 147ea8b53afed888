"""Training, validation and test sets: from the folders of the usual collections, or by query."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from itertools import filterfalse, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import FilePath, file_path
from rankgrove._arguments import require_integer, require_number
from rankgrove.data.core.alignment import align_features
from rankgrove.data.core.dataset import Dataset, concatenate, require_dataset
from rankgrove.data.core.names import default_feature_names
from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES
from rankgrove.data.reading.loading import load
from rankgrove.errors import DataError, DataWarning

FOLD_ORDERS = ("random", "sorted")


class Fold(NamedTuple):
    """One way to divide data: learn on ``train``, choose on ``validation``, report on ``test``."""

    train: Dataset
    validation: Dataset
    test: Dataset


def load_folds(folder: str | os.PathLike[str], **options: Any) -> Iterator[Fold]:
    """Load the folds of a collection, one after the other.

    Layouts, with files of any format that ``load`` reads, compressed or not:

    - ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, ``Fold2/...`` (LETOR, MSLR,
      Istella); one set of the three files in the folder itself is one fold
    - ``S1.txt`` ... ``S5.txt`` (LETOR partitions): of n parts, fold i trains on all parts from the
      i-th on except two, validates on the next one and tests on the last, counted round
    - ``set1.train.txt``, ``set1.valid.txt``, ``set1.test.txt``, ``set2...`` (Yahoo!): a fold each;
      they are different data, which ``load_folds_of_set`` loads one at a time

    ``options`` go to ``load``. All three sets of a fold get the same features: those that a file
    does not mention are absent (0, or NaN with ``absent="missing"``).
    """
    root = _existing(folder)
    named = _named_triples(root)
    if named:
        _warn_of_missing_folds(root)
        return (_load_triple(triple, options) for _, triple in named)
    parts = _parts(root)
    if parts:
        return _folds_of_parts(parts, options)
    raise DataError(
        f"{root}: no folds found: expected Fold1/train.txt, vali.txt and test.txt, or S1.txt to "
        "S5.txt, or set1.train.txt, set1.valid.txt and set1.test.txt"
    )


def fold_numbers(folder: str | os.PathLike[str]) -> list[int]:
    """Return the numbers of Fold1, Fold2, ... of a folder, in the order of ``load_folds``."""
    return [number for number, _ in _fold_folders(_existing(folder))]


def data_sets(folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of the data sets (``set1``, ``set2``) in a folder that holds several."""
    names = [name for name, _ in _named_triples(_existing(folder))]
    sets = [name for name in names if re.fullmatch(r"(.*[ ._-])?set[ _-]?\d+", name)]
    return sets if len(sets) > 1 else []


def load_folds_of_set(folder: str | os.PathLike[str], name: str, **options: Any) -> Iterator[Fold]:
    """Load one of the ``data_sets`` of a folder; ``options`` go to ``load``."""
    named = _named_triples(_existing(folder))
    return (_load_triple(triple, options) for found, triple in named if found == name)


def _existing(folder: str | os.PathLike[str]) -> FilePath:
    root = file_path(folder)
    if not root.is_dir():
        raise DataError(f"{root}: {'not a folder' if root.exists() else 'no such folder'}")
    return root


def kfold(
    dataset: Dataset,
    n_folds: int = 5,
    seed: int | None = 0,
    *,
    validation: bool = True,
    order: str = "random",
) -> Iterator[Fold]:
    """Divide the queries of a data set into folds; a query is never cut.

    Fold i tests on the i-th part, validates on the next part and trains on the others. Without
    ``validation``, that set has no rows and its part is used for training.

    Parameters
    ----------
    n_folds : number of parts; at least 3, or 2 without validation
    seed : of the random order of the queries; None keeps their order
    order : ``"random"``, or ``"sorted"``: a part holds neighbouring query ids, numbers (in their
        order) before texts; the seed then has no effect
    """
    require_dataset(dataset, "kfold")
    if order not in FOLD_ORDERS:
        raise ValueError(f"order must be one of {', '.join(FOLD_ORDERS)}, not {order!r}")
    require_integer(n_folds, "n_folds")
    fewest = 3 if validation else 2
    if n_folds < fewest:
        parts = "training, validation and test parts; 2 with validation=False"
        raise ValueError(
            f"n_folds must be at least {fewest}{f' ({parts})' if validation else ''}, not {n_folds}"
        )
    if dataset.n_queries < n_folds:
        raise DataError(
            f"{dataset.source}: {dataset.n_queries} are too few queries for {n_folds} folds"
        )
    part = np.empty(dataset.n_queries, np.int64)
    queries = _query_order(dataset.n_queries, seed)
    if order == "sorted":
        queries = _sorted_by_id(dataset.groups.ids)
    part[queries] = np.arange(dataset.n_queries) * n_folds // dataset.n_queries

    def folds() -> Iterator[Fold]:
        for i in range(n_folds):
            tested = part == i
            validated = (part == (i + 1) % n_folds) & validation
            yield Fold(
                dataset.select_queries(~tested & ~validated),
                dataset.select_queries(validated),
                dataset.select_queries(tested),
            )

    return folds()


def split(dataset: Dataset, shares: Sequence[float], seed: int | None = 0) -> list[Dataset]:
    """Divide the queries of a data set at random into parts of given shares; a query is never cut.

    Rows of a part keep their order. Numbers of queries are rounded; a part without a query is an
    error.

    Parameters
    ----------
    shares : of the queries, one for each part; they sum to 1
    seed : of the random order of the queries; None keeps their order
    """
    require_dataset(dataset, "split")
    listed = check_shares(shares)
    # The addend keeps halves from depending on how a share is rounded: 0.1 as well as 1 - 0.9.
    ends = np.floor(np.cumsum(shares) * dataset.n_queries + 0.5 + 1e-6).astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    if not sizes.all():
        raise DataError(
            f"{dataset!r} has too few queries for shares of {listed}: the parts would have "
            f"{', '.join(map(str, sizes))} queries, and each needs at least one"
        )
    order = _query_order(dataset.n_queries, seed)
    return [dataset.select_queries(chosen) for chosen in np.split(order, ends[:-1])]


def check_shares(shares: Sequence[float]) -> str:
    """Refuse shares that do not sum to 1; return them as text."""
    if isinstance(shares, str) or not isinstance(shares, Collection):
        raise ValueError(f"shares must be two or more numbers between 0 and 1, not {shares!r}")
    for share in shares:
        require_number(share, "a share", "a number", lambda _: True)
    listed = ", ".join(f"{share:g}" for share in shares)
    if len(shares) < 2 or not all(0 < share < 1 for share in shares):
        raise ValueError(f"shares must be two or more numbers between 0 and 1, not {listed}")
    if not math.isclose(sum(shares), 1, abs_tol=1e-9):
        raise ValueError(f"shares must sum to 1, but {listed} sum to {sum(shares):.9g}")
    return listed


def _sorted_by_id(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the positions of the queries by their ids: numbers in their order, then texts."""

    def key(position: int) -> tuple[bool, float, str]:
        text = str(ids[position])
        try:
            return False, float(text), ""
        except ValueError:
            return True, 0.0, text

    return np.array(sorted(range(len(ids)), key=key), np.int64)


def _query_order(n_queries: int, seed: int | None) -> npt.NDArray[np.int64]:
    """Return the positions of the queries in random order, or in data order without a seed."""
    if seed is None:
        return np.arange(n_queries)
    require_integer(seed, "seed", 0)
    return np.random.default_rng(seed).permutation(n_queries)


_ROLES = {
    "train": "train",
    "vali": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "test": "test",
}


def _stem(path: FilePath) -> str:
    """Return a file name without the suffixes of format and compression, in lower case."""
    if path.suffix.lower() in COMPRESSED_SUFFIXES:
        path = path.with_suffix("")
    return path.stem.lower()


def _files(folder: FilePath) -> list[FilePath]:
    files: list[FilePath] = [
        path
        for path in folder.iterdir()
        if path.is_file()
        and not path.name.startswith(".")
        and path.suffix not in (".query", ".group", ".md")
    ]
    return sorted(files, key=lambda path: path.name)


def _roles(files: list[FilePath], pattern: str) -> dict[str, dict[str, FilePath]]:
    """Return the files by set name and role."""
    found: dict[str, dict[str, FilePath]] = {}
    for path in files:
        match = re.fullmatch(pattern, _stem(path))
        if match is None or match["role"] not in _ROLES:
            continue
        roles = found.setdefault(match["set"] or "", {})
        role = _ROLES[match["role"]]
        if role in roles:
            raise DataError(f"{path} and {roles[role].name} are both the {role} set")
        roles[role] = path
    return found


def _named_triples(root: FilePath) -> list[tuple[str, dict[str, FilePath]]]:
    """Return the three files of each fold, with their common prefix (``set1``)."""
    folds = [path for _, path in _fold_folders(root)]
    triples: list[tuple[FilePath, str, dict[str, FilePath]]] = []
    for folder in folds or [root]:
        sets = _roles(_files(folder), r"(?P<set>)(?P<role>[a-z]+)")
        if not sets and not folds:
            sets = _roles(_files(folder), r"(?P<set>.*?\d+)[._-](?P<role>[a-z]+)")
        if not sets and folds:
            raise DataError(f"{folder}: no train, vali and test files")
        triples += [(folder, name, sets[name]) for name in sorted(sets)]
    for folder, _, triple in triples:
        for role in ("train", "validation", "test"):
            if role not in triple:
                raise DataError(f"{folder}: there is no {role} file beside {_names(triple)}")
    return [(name, triple) for _, name, triple in triples]


def _fold_folders(root: FilePath) -> list[tuple[int, FilePath]]:
    """Return Fold1, Fold2, ... with their numbers."""
    found: dict[int, FilePath] = {}
    paths: list[FilePath] = [*root.iterdir()]
    for path in sorted(paths, key=lambda path: path.name):
        match = re.fullmatch(r"fold[ _-]?(\d+)", path.name.lower())
        if match is None or not path.is_dir():
            continue
        other = found.setdefault(int(match[1]), path)
        if other is not path:
            raise DataError(f"{root}: {other.name} and {path.name} are both fold {int(match[1])}")
    return sorted(found.items())


def _warn_of_missing_folds(root: FilePath) -> None:
    numbers = [number for number, _ in _fold_folders(root)]
    up_to_last = range(min([1, *numbers]), max(numbers, default=0))
    absent = [
        f"Fold{number}" for number in islice(filterfalse(set(numbers).__contains__, up_to_last), 6)
    ]
    if absent:
        absent[5:] = ["..."] if len(absent) > 5 else []
        warnings.warn(
            f"{root}: {', '.join(absent)} is missing (the last is Fold{numbers[-1]}): the other "
            "folds keep their numbers",
            DataWarning,
            stacklevel=3,
        )


def _names(triple: dict[str, FilePath]) -> str:
    return " and ".join(path.name for path in triple.values())


def _load_triple(triple: dict[str, FilePath], options: dict[str, Any]) -> Fold:
    sets = [load(triple[role], **options) for role in ("train", "validation", "test")]
    return Fold(*_same_features(sets))


def _parts(root: FilePath) -> list[FilePath]:
    found = [(re.fullmatch(r"s(\d+)", _stem(path)), path) for path in _files(root)]
    numbered = [(int(match[1]), path) for match, path in found if match is not None]
    numbered.sort(key=lambda pair: pair[0])
    if not numbered:
        return []
    numbers = [number for number, _ in numbered]
    if len(numbered) < 3 or numbers != list(range(1, len(numbered) + 1)):
        raise DataError(
            f"{root}: expected parts S1, S2, S3, ..., found S{', S'.join(map(str, numbers))}"
        )
    return [path for _, path in numbered]


def _folds_of_parts(paths: list[FilePath], options: dict[str, Any]) -> Iterator[Fold]:
    parts = _same_features([load(path, **options) for path in paths])
    n = len(parts)
    for i in range(n):
        turned = [parts[(i + k) % n] for k in range(n)]
        yield Fold(concatenate(turned[:-2]), turned[-2], turned[-1])


def _same_features(sets: list[Dataset]) -> list[Dataset]:
    """Order features by name as in the first set; pad numbered ones to the widest set."""
    if len({frozenset(data.feature_names) for data in sets}) == 1:
        return [align_features(data, sets[0].feature_names) for data in sets]
    names = {name for data in sets for name in data.feature_names}
    first = 0 if "f0" in names else 1
    numbered = default_feature_names(len(names), first)
    if set(numbered) != names:
        raise DataError(f"{sets[0]!r} and {sets[1]!r} have different features")
    return [align_features(data, numbered, absent=data.absent or "error") for data in sets]
