"""A ranker that another library trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import ModelError
from rankgrove.rankers.base import Arrays
from rankgrove.rankers.declaration import ranker
from rankgrove.rankers.tree_ranker import TreeRanker
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.scorer import Scorer

# Functions that other libraries apply to the sum of their trees.
LINKS = ("identity", "sigmoid", "exp")


@ranker
class ImportedRanker(TreeRanker):
    """Trees of another library's model, with the scores that library gives.

    Made by ``rankgrove.from_lightgbm`` and its siblings; it scores, saves, loads and explains like
    a ranker that was trained here, but cannot be fitted.
    """

    @classmethod
    def from_ensemble(
        cls,
        ensemble: TreeEnsemble,
        source: str,
        *,
        link: str = "identity",
        feature_names: Sequence[str] | None = None,
        missing_up_to: npt.NDArray[np.float32] | None = None,
    ) -> ImportedRanker:
        """Wrap trees; ``source`` names the library they come from (see Scorer for the rest)."""
        model = cls(**{})
        model.n_features_in_ = ensemble.n_features
        if feature_names is not None:
            names = [str(name) for name in feature_names]
            if len(names) != ensemble.n_features:
                raise ModelError(f"{len(names)} names for {ensemble.n_features} features")
            model.feature_names_in_ = np.asarray(names, dtype=object)
        model.fill_ = None
        model.missing_up_to_ = missing_up_to
        model.ensemble_ = ensemble
        model.source_ = source
        model.link_ = link
        return model

    @property
    def ranker_name(self) -> str:
        """The name under which model files know imported models."""
        return "imported"

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> ImportedRanker:
        """Refuse: an imported model is trained already."""
        raise ModelError(
            f"this model was trained by {getattr(self, 'source_', 'another library')}: to go on "
            "from it, pass it as init_model to a boosted ranker"
        )

    def _make_scorer(self) -> Scorer:
        return Scorer(
            self.ensemble_,
            self.fill_,
            self.missing_up_to_,
            getattr(self, "feature_names_in_", None),
        )

    def _link(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.link_ == "sigmoid":
            from scipy.special import expit

            return np.asarray(expit(raw))
        return np.exp(raw) if self.link_ == "exp" else raw

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        values["source"] = self.source_
        values["link"] = self.link_
        if self.missing_up_to_ is not None:
            arrays["missing_up_to"] = self.missing_up_to_
        return values, arrays

    def _set_fitted(self, values: dict[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        self.missing_up_to_ = arrays.get("missing_up_to")
        if self.missing_up_to_ is not None and (
            self.missing_up_to_.shape != (self.n_features_in_,)
            or self.missing_up_to_.dtype != np.float32
        ):
            raise ModelError("missing_up_to does not have a float32 value for each feature")
        self.source_ = str(values["source"])
        self.link_ = values["link"]
        if self.link_ not in LINKS:
            raise ModelError(f"the link {self.link_!r:.100} is not one of {', '.join(LINKS)}")
