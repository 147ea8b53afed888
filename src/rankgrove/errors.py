"""The exceptions that rankgrove raises on purpose, and its warnings."""

from __future__ import annotations


class RankgroveError(Exception):
    """Base of every error that rankgrove raises on purpose."""


class DataError(RankgroveError, ValueError):
    """Input data that cannot be read or are inconsistent; the message says where and why."""


class LabelError(DataError):
    """A label that a gain or a metric cannot use.

    Attributes
    ----------
    place : the label in words: ``"label of row 7"``, or ``"label"`` if its row is not known
    label : its value
    reason : why it cannot be used
    source : what refuses it, such as a metric; empty: nobody in particular
    """

    def __init__(self, place: str, label: float, reason: str, source: str = "") -> None:
        super().__init__(place, label, reason, source)
        self.place, self.label, self.reason, self.source = place, label, reason, source

    def __str__(self) -> str:
        source = f"{self.source}: " if self.source else ""
        return f"{source}{self.place} ({self.label:.17g}) {self.reason}"


class ModelError(RankgroveError, ValueError):
    """A model file or foreign model that cannot be used; the message says which and why."""


class NoAttributeError(ModelError, AttributeError):
    """An attribute that this kind of model lacks (``hasattr`` is false); the message says why."""


class MissingDependencyError(RankgroveError, ImportError):
    """An optional library is not installed; the message says how to install it."""


class GateError(RankgroveError):
    """A comparison found a ranker significantly worse than the baseline; the message says which."""


class DataWarning(UserWarning):
    """Suspicious input: probably not what the caller meant, or too degenerate to mean anything."""


class WorkerError(RankgroveError):
    """Another worker of a distributed fit is lost or failed; the message says which.

    Attributes
    ----------
    rank : number of that worker
    address : where it was, ``host:port``
    """

    def __init__(self, message: str, rank: int = -1, address: str = "") -> None:
        super().__init__(message, rank, address)
        self.rank = rank
        self.address = address

    def __str__(self) -> str:
        return str(self.args[0])


class WorkerLost(WorkerError):  # noqa: N818
    """A worker died, is unreachable or timed out: the fit can be retried without it."""


class WorkerFailed(WorkerError):  # noqa: N818
    """A worker raised an error, whose text is the message: a retry would fail again."""
