"""The exceptions that rankgrove raises on purpose, and its warnings."""

from __future__ import annotations


class RankgroveError(Exception):
    """Base of every error that rankgrove raises on purpose."""


class DataError(RankgroveError, ValueError):
    """Input data that cannot be read or does not make sense; says where and what."""


class ModelError(RankgroveError, ValueError):
    """A model file or foreign model that cannot be used; says which and why."""


class MissingDependencyError(RankgroveError, ImportError):
    """An optional library is needed and absent; says how to install it."""


class DataWarning(UserWarning):
    """Data that may not be meant as they were read, or whose result means little; says why."""


class TrainingInterrupted(UserWarning):
    """Ctrl-C ended a fit early; the model is what was finished."""
