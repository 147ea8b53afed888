"""Loaders of public ranking collections: layout, number of features and grades are checked.

Nothing is downloaded. Where files are missing, the error says who publishes them and under which
terms.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankgrove._addresses import file_path, printable
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.reading.folds import Fold, load_folds
from rankgrove.errors import DataError


@dataclass(frozen=True)
class Collection:
    """The layout of a public collection: its number of features and its grades."""

    name: str
    n_features: tuple[int, ...]
    highest_grade: int
    layout: str
    publisher: str

    def folds(self, path: str | os.PathLike[str], options: dict[str, Any]) -> Iterator[Fold]:
        """Load the folds one after the other; DataError if a set is not of this collection."""
        if not file_path(path).is_dir():
            place = printable(str(path))
            raise DataError(
                f"{place}: no such folder. {self.name} is {self.publisher}; rankgrove does not "
                f"download it. Give the folder with {self.layout}"
            )
        try:
            folds = load_folds(path, **{**self._width(), **options})
        except DataError as error:
            raise DataError(f"{error}. {self.name} has {self.layout}") from error
        return (self._checked(fold) for fold in folds)

    def _width(self) -> dict[str, int]:
        return {"n_features": self.n_features[0]} if len(self.n_features) == 1 else {}

    def _checked(self, fold: Fold) -> Fold:
        for data in fold:
            self._check(data)
        return fold

    def _check(self, data: Dataset) -> None:
        if data.n_features not in self.n_features:
            expected = " or ".join(map(str, self.n_features))
            raise DataError(f"{data!r}: {self.name} has {expected} features, not {data.n_features}")
        wrong = data.y[(data.y < 0) | (data.y > self.highest_grade) | (data.y % 1 != 0)]
        if len(wrong):
            raise DataError(
                f"{data!r}: {self.name} has grades 0 to {self.highest_grade}, not {wrong[0]:g}"
            )


_FOLDERS = "Fold1/train.txt, vali.txt and test.txt, Fold2/..., compressed or not"
_LETOR = Collection(
    "LETOR",
    (46, 45, 64),
    2,
    f"{_FOLDERS}, or S1.txt to S5.txt",
    "published by Microsoft Research for research (LETOR 3.0 and 4.0; see its terms of use)",
)
_MSLR = Collection(
    "MSLR-WEB10K / MSLR-WEB30K",
    (136,),
    4,
    _FOLDERS,
    "published by Microsoft Research for research (see its terms of use)",
)
_YAHOO = Collection(
    "the Yahoo! Learning to Rank Challenge",
    (700,),
    4,
    "set1.train.txt, set1.valid.txt and set1.test.txt, and the same of set2",
    "published by Yahoo! Webscope (C14) for non-commercial research, on request",
)
_ISTELLA = Collection(
    "Istella LETOR",
    (220,),
    4,
    "train.txt, vali.txt and test.txt (Istella-S and Istella-X)",
    "published by Istella for non-commercial research (see its licence)",
)


def load_letor(path: str | os.PathLike[str], **options: Any) -> Iterator[Fold]:
    """Load LETOR 3.0 or 4.0: MQ2007 and MQ2008 (46 features), OHSUMED (45), Gov (64).

    Parameters
    ----------
    path : the folder with ``Fold1`` to ``Fold5``, or with ``S1.txt`` to ``S5.txt``
    options : of ``rankgrove.load``
    """
    return _LETOR.folds(path, options)


def load_mslr(path: str | os.PathLike[str], **options: Any) -> Iterator[Fold]:
    """Load MSLR-WEB10K or MSLR-WEB30K: five folds, 136 features, grades 0 to 4.

    Parameters
    ----------
    path : the folder with ``Fold1`` to ``Fold5``
    options : of ``rankgrove.load``
    """
    return _MSLR.folds(path, options)


def load_yahoo(path: str | os.PathLike[str], **options: Any) -> Iterator[Fold]:
    """Load the Yahoo! Learning to Rank Challenge: sets 1 and 2, 700 features, grades 0 to 4.

    Parameters
    ----------
    path : the folder with ``set1.train.txt``, ``set1.valid.txt``, ``set1.test.txt``, ...
    options : of ``rankgrove.load``
    """
    return _YAHOO.folds(path, options)


def load_istella(path: str | os.PathLike[str], **options: Any) -> Iterator[Fold]:
    """Load Istella-S or Istella-X: 220 features, grades 0 to 4.

    Parameters
    ----------
    path : the folder with ``train.txt``, ``vali.txt`` and ``test.txt``
    options : of ``rankgrove.load``
    """
    return _ISTELLA.folds(path, options)
