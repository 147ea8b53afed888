"""Parameters of rankers of other libraries, which are refused before a study begins.

Only the library itself knows which parameters it accepts, so it grows one tree on a few documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from rankgrove.data.core.dataset import Dataset
from rankgrove.datasets.ranking import make_ranking
from rankgrove.errors import MissingDependencyError
from rankgrove.experiments.feature_numbers import FEATURE_NUMBERS_OF_PEERS
from rankgrove.experiments.peers import fit_one_tree
from rankgrove.experiments.specs import PEER_LIBRARIES, Spec


def refuse_wrong_parameters(specs: Sequence[Spec], rounds: int | None) -> None:
    """Raise a ValueError that names what a library does not accept, in any setting of a spec.

    Parameters
    ----------
    rounds : of early stopping, which some parameters require
    """
    for spec in specs:
        if spec.library not in PEER_LIBRARIES:
            continue
        tried: set[tuple[str, str]] = set()
        for setting in spec.settings:
            values = {(name, repr(value)) for name, value in setting.items()}
            if tried and values <= tried:
                continue
            tried |= values
            error = _refusal(spec, setting, rounds)
            if error is not None:
                rejected = _rejected(spec, setting, rounds)
                words = ", ".join(f"{name}={value!r}" for name, value in rejected.items())
                raise ValueError(f"{spec.use} cannot be trained with {words or 'this'}: {error}")


def _refusal(spec: Spec, setting: Mapping[str, Any], rounds: int | None) -> str | None:
    """Return the error of the library for a setting, or None."""
    params = {k: v for k, v in setting.items() if k not in FEATURE_NUMBERS_OF_PEERS}
    try:
        fit_one_tree(str(spec.library), spec.target, params, _documents(), rounds)
    except MissingDependencyError:
        raise
    except Exception as error:
        return str(error).strip().partition("\n")[0] or type(error).__name__
    return None


def _rejected(spec: Spec, setting: Mapping[str, Any], rounds: int | None) -> Mapping[str, Any]:
    """Return the parameter without which the library accepts the others; all if there is none."""
    for name, value in setting.items():
        rest = {other: setting[other] for other in setting if other != name}
        if _refusal(spec, rest, rounds) is None:
            return {name: value}
    return setting


@cache
def _documents() -> Dataset:
    """Return a few documents that are relevant or not: labels that every objective takes."""
    made = make_ranking(16, docs_per_query=8, n_features=4, seed=0)
    return Dataset(made.X, (made.y > 0).astype(float), made.qid)
