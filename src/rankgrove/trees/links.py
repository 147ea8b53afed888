"""Link functions: from the outputs of trees to one score per document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.errors import ModelError

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float64]


class Link(ABC):
    """A link function; models with equal links can be merged into one ensemble."""

    @property
    def is_monotone(self) -> bool:
        """Whether the score is non-decreasing in every output."""
        return True

    @abstractmethod
    def apply(self, raw: Floats, n_threads: int = 1) -> Floats:
        """Convert raw outputs, shape (n_outputs, n_documents), to one score per document."""

    @abstractmethod
    def get_state(self) -> tuple[Any, Arrays]:
        """Return the state for a model file: a JSON-able value, and arrays."""


@dataclass(frozen=True)
class ScalarLink(Link):
    """A function of one output: ``identity``, or the ``sigmoid`` or ``exp`` of imported models."""

    name: str = "identity"

    def apply(self, raw: Floats, n_threads: int = 1) -> Floats:
        """Apply the function."""
        only: Floats = raw[0]
        if self.name == "sigmoid":
            from scipy.special import expit

            return np.asarray(expit(only))
        return np.exp(only) if self.name == "exp" else only

    def get_state(self) -> tuple[Any, Arrays]:
        """Return the name."""
        return self.name, {}


IDENTITY = ScalarLink()
SCALAR_LINKS = ("identity", "sigmoid", "exp")


@dataclass(frozen=True)
class ExpectedGain(Link):
    """The expected gain of a document under the probabilities of its grades.

    Attributes
    ----------
    grades : the labels, the lowest first
    gains : what each is worth in the score
    ordinal : whether outputs are the log-odds of P(label >= grade) for every grade but the lowest,
        or the logarithms of the grades' probabilities up to a constant
    """

    grades: tuple[float, ...]
    gains: tuple[float, ...]
    ordinal: bool

    @property
    def n_outputs(self) -> int:
        """Number of outputs that the link takes."""
        return len(self.grades) - self.ordinal

    @property
    def is_monotone(self) -> bool:
        """Whether outputs are cumulative, and gains do not decrease with the grade."""
        return self.ordinal and bool((np.diff(self.gains) >= 0).all())

    def apply(self, raw: Floats, n_threads: int = 1) -> Floats:
        """Return the expected gain of each document."""
        outputs = np.ascontiguousarray(raw, np.float64)
        return _native.expected_gain(outputs, np.asarray(self.gains), self.ordinal, n_threads)

    def get_state(self) -> tuple[Any, Arrays]:
        """Return the form, and the grades and gains as arrays."""
        arrays = {"grades": np.asarray(self.grades), "grade_gains": np.asarray(self.gains)}
        return {"expected_gain": "ordinal" if self.ordinal else "multiclass"}, arrays


@dataclass(frozen=True)
class GradeSum(Link):
    r"""The expected grade, from the probabilities of reaching each grade but the lowest.

    With grades :math:`l_0 < l_1 < ...` and output k standing for :math:`P(y \ge l_k)`, the score is
    :math:`l_0 + \sum_k (l_k - l_{k-1}) P(y \ge l_k)`, which is :math:`\sum_r r P(y = r)`.

    Attributes
    ----------
    grades : the labels, the lowest first
    """

    grades: tuple[float, ...]

    @property
    def steps(self) -> Floats:
        """Differences between consecutive grades."""
        return np.diff(np.asarray(self.grades))

    def apply(self, raw: Floats, n_threads: int = 1) -> Floats:
        """Return the expected grade of each document; outputs are added in their order."""
        total = np.full(raw.shape[1], self.grades[0])
        for step, output in zip(self.steps, raw, strict=True):
            total += step * output
        return total

    def get_state(self) -> tuple[Any, Arrays]:
        """Return the name, and the grades as an array."""
        return "grade_sum", {"grades": np.asarray(self.grades)}


def link_from_state(value: Any, arrays: Arrays, n_outputs: int) -> Link:
    """Build a link from its ``get_state``, for an ensemble of ``n_outputs`` outputs."""
    if isinstance(value, str) and value in SCALAR_LINKS and n_outputs == 1:
        return ScalarLink(value)
    if value == "grade_sum":
        grades = arrays["grades"]
        _check_numbers("grades", grades, n_outputs + 1)
        return GradeSum(tuple(grades.tolist()))
    if isinstance(value, Mapping) and value.get("expected_gain") in ("ordinal", "multiclass"):
        ordinal = value["expected_gain"] == "ordinal"
        grades, gains = arrays["grades"], arrays["grade_gains"]
        for name, array in (("grades", grades), ("grade_gains", gains)):
            _check_numbers(name, array, n_outputs + ordinal)
        return ExpectedGain(tuple(grades.tolist()), tuple(gains.tolist()), ordinal)
    raise ModelError(f"the link {value!r:.100} of {n_outputs} outputs is unknown")


def _check_numbers(name: str, array: npt.NDArray[Any], count: int) -> None:
    if array.dtype != np.float64 or array.shape != (count,) or not np.isfinite(array).all():
        raise ModelError(f"{name} are not {count} numbers")
