"""Boosted rankers that learn from clicks: the parameters of position bias, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Floats, Objective, TrainingData
from rankgrove.boosting.objectives.position_bias import (
    AdditivePositionBias,
    EstimatedBias,
    ShownPositions,
    Table,
)
from rankgrove.boosting.sampling import TreeSampler
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataError, ModelError
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.parameters import AnyOf, Choice, Nothing, Real, Satisfies
from rankgrove.rankers.base.tree_sampling import make_sampler

Arrays = dict[str, npt.NDArray[Any]]
_NEEDS = {
    "ips": ("propensity",),
    "unbiased": ("position",),
    "additive": ("position",),
    "trust": ("position",),
}
_USES = {
    "max_click_weight": ("ips", "unbiased", "trust"),
    "position_bias_reg": ("unbiased", "additive"),
    "trust_bias": ("trust",),
}
_ESTIMATES = ("propensity", "click_ratio", "no_click_ratio", "bias", "alpha", "beta")
_COLUMNS = ("position", "documents", "clicks", *_ESTIMATES)


def _is_trust_bias(value: Any) -> bool:
    if isinstance(value, str) or np.ndim(value) != 2 or np.shape(value)[1] != 2:
        return False
    table = np.asarray(value)
    if not len(table) or table.dtype.kind not in "iuf" or not np.isfinite(table).all():
        return False
    alpha, beta = table.T
    return bool((alpha > 0).all() and (beta >= 0).all())


def _read_trust_bias(text: str) -> list[list[float]]:
    return [[float(number) for number in pair.split(":")] for pair in text.split(",")]


@declared
class ClickBoostedRanker(BoostedRanker):
    """Base of the boosted rankers that learn from clicks at known positions."""

    # The values of ``position_bias`` besides "none" that this ranker knows.
    position_biases: ClassVar[tuple[str, ...]] = ()

    position_bias: str = param(
        "none",
        Choice("none", "ips", "unbiased", "additive", "trust"),
        "how labels that are clicks (0 or 1) are corrected for the position of the document: not "
        "at all; divided by its propensity (ips); by ratios that are estimated with the trees "
        "(unbiased); by a bias of each position that is added to scores in training (additive); or "
        "as (click - beta) / alpha of the position (trust)",
    )
    max_click_weight: float = param(
        20.0, Real(1), "position bias: largest weight of a click (1 / propensity, 1 / ratio)"
    )
    position_bias_reg: float | None = param(
        None,
        AnyOf(Real(0), Nothing()),
        "regularisation of estimated position bias: the p in the exponent 1 / (1 + p) of ratios "
        "(None: 1), or the L2 penalty per document of additive biases (None: 0)",
    )
    trust_bias: Any = param(
        None,
        AnyOf(
            Nothing(),
            Satisfies(
                _is_trust_bias,
                "pairs (alpha, beta), alpha above 0 and beta at least 0",
                _read_trust_bias,
            ),
        ),
        "(alpha, beta) of each position from 1 on, for position_bias='trust': a document of "
        "relevance r is clicked with probability alpha r + beta (``0.9:0.05,0.5:0.02`` on the "
        "command line)",
    )

    def check_clicks(self, given: FitData) -> None:
        """Refuse positions or propensities that have no effect."""
        owner, bias = type(self).__name__, self.position_bias
        for name in ("position", "propensity"):
            used = name in _NEEDS.get(bias, ()) or (name == "position" and bias == "ips")
            if getattr(given, name) is not None and not used:
                raise ValueError(
                    f"fit: {name} has no effect on {owner} with position_bias={bias!r}: set "
                    "position_bias to say how clicks are corrected"
                )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        when = f"with position_bias={self.position_bias!r}"
        unused = {name: when for name, biases in _USES.items() if self.position_bias not in biases}
        return {**super()._unused_parameters(data), **unused}

    def _check_labels(self, data: RankingInput) -> None:
        super()._check_labels(data)
        if self.position_bias != "none":
            self._check_correction(data)

    def _check_correction(self, data: RankingInput) -> None:
        """Refuse a correction that this ranker or the data do not allow."""
        owner, bias = type(self).__name__, self.position_bias
        if bias not in self.position_biases:
            known = ", ".join(map(repr, ("none", *self.position_biases)))
            raise ValueError(f"parameter position_bias of {owner} must be {known}, not {bias!r}")
        for name in _NEEDS[bias]:
            if getattr(data, name) is None:
                raise DataError(
                    f"fit: position_bias={bias!r} of {owner} needs the {name} of each row, which "
                    f"{name}= (--{name} on the command line) gives, here or when loading"
                )
        wrong = (data.y != 0) & (data.y != 1)
        if wrong.any() and bias != "additive":
            raise DataError(
                f"fit: position_bias={bias!r} needs clicks, labels of 0 and 1, not "
                f"{data.y[wrong][0]:g}"
            )
        if self.sampling == "hard-negatives":
            raise ValueError(
                f"parameter sampling of {owner} is 'hard-negatives', which has no meaning for "
                f"clicks with position_bias={bias!r}"
            )
        if self.drop_rate > 0 and bias in ("unbiased", "additive"):
            raise ValueError(
                f"parameter drop_rate of {owner} does not go with position_bias={bias!r}: "
                "estimates are those of all trees"
            )
        self._check_trust(data)

    def _check_trust(self, data: RankingInput) -> None:
        if self.position_bias != "trust":
            return
        if self.trust_bias is None:
            raise ValueError(
                f"position_bias='trust' of {type(self).__name__} needs trust_bias: (alpha, beta) "
                "of each position (rankgrove.clicks.estimate_trust_bias)"
            )
        assert data.position is not None
        if data.position.max(initial=1) > len(self.trust_bias):
            raise DataError(
                f"fit: position {data.position.max()} has no trust_bias: there are "
                f"{len(self.trust_bias)} pairs"
            )

    def _objective_and_sampler(self, fit: Fit) -> tuple[Objective, TreeSampler]:
        if self.position_bias == "none":
            return super()._objective_and_sampler(fit)
        self._check_labels(fit.data)  # a member of a bag was not checked before
        objective = self._debiased(self._training_data(fit), fit.data)
        return objective, make_sampler(self, fit.data.groups, fit.shard, fit.seed)

    def _debiased(self, training: TrainingData, data: RankingInput) -> Objective:
        """Return the objective that corrects clicks: here, one of corrected labels or scores."""
        if self.position_bias == "additive":
            assert data.position is not None
            return AdditivePositionBias(
                self._objective(training),
                training,
                ShownPositions.of(data.position, training.shard),
                reg=self.position_bias_reg or 0.0,
                learning_rate=self.learning_rate,
            )
        labels = training.y * self._click_weights(data)
        if self.position_bias == "trust":
            labels = self._trusted(data)
        return self._objective(replace(training, y=labels))

    def _click_weights(self, data: RankingInput) -> Floats:
        """Return 1 / propensity, at most ``max_click_weight``; ones without propensities."""
        if data.propensity is None:
            return np.ones(len(data.y))
        return np.minimum(1 / data.propensity, self.max_click_weight)

    def _trusted(self, data: RankingInput) -> Floats:
        """Return (click - beta) / alpha; alpha is at least 1 / ``max_click_weight``."""
        assert data.position is not None
        alpha, beta = np.asarray(self.trust_bias, np.float64).T
        place = data.position - 1
        alpha = np.maximum(alpha, 1 / self.max_click_weight)
        return np.asarray((data.y - beta[place]) / alpha[place])

    def _fitted_attributes(self, fit: Fit, objective: Objective, n_steps: int) -> dict[str, Any]:
        return {"position_bias_": self._bias_table(fit, objective, n_steps)}

    def _bias_table(self, fit: Fit, objective: Objective, n_steps: int) -> Table | None:
        data = fit.data
        if isinstance(objective, EstimatedBias):
            return objective.table_after(n_steps)
        if self.position_bias == "none" or data.position is None:
            return None
        shown = ShownPositions.of(data.position, fit.shard)
        if self.position_bias == "trust":
            alpha, beta = np.asarray(self.trust_bias, np.float64)[shown.positions - 1].T
            return shown.table(data.y, alpha=alpha, beta=beta)
        assert data.propensity is not None
        return shown.table(data.y, propensity=shown.sums(data.propensity) / shown.counts)

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        table = self.position_bias_ or {}
        return values, {**arrays, **{f"position_bias_{name}": table[name] for name in table}}

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        found = {name: arrays.get(f"position_bias_{name}") for name in _COLUMNS}
        table = {name: array for name, array in found.items() if array is not None}
        if len({array.shape for array in table.values()}) > 1 or any(
            array.ndim != 1 or array.dtype.kind not in "iuf" for array in table.values()
        ):
            raise ModelError("position_bias is not a table of numbers by position")
        self.position_bias_ = table or None
