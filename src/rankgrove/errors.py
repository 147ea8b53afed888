"""The exceptions that rankgrove raises on purpose, and its warnings."""

from __future__ import annotations


class RankgroveError(Exception):
    """Base of every error that rankgrove raises on purpose."""


class DataError(RankgroveError, ValueError):
    """Input data that cannot be read or does not make sense; says where and what."""


class ModelError(RankgroveError, ValueError):
    """A model file or foreign model that cannot be used; says which and why."""


class NoAttributeError(ModelError, AttributeError):
    """An attribute that this kind of model does not have; says why. ``hasattr`` is false."""


class MissingDependencyError(RankgroveError, ImportError):
    """An optional library is needed and absent; says how to install it."""


class DataWarning(UserWarning):
    """Data that may not be meant as they were read, or whose result means little; says why."""


class WorkerError(RankgroveError):
    """Another worker of a distributed fit is gone or gave up; says which.

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
    """A worker died, cannot be reached or kept silent for too long: try again without it."""


class WorkerFailed(WorkerError):  # noqa: N818
    """A worker ended with an error of its own, whose text this is: trying again will not help."""
