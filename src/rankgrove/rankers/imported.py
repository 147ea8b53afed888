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
    ) -> ImportedRanker:
        """Wrap trees; ``source`` names the library they come from."""
        model = cls(**{})
        model.n_features_in_ = ensemble.n_features
        if feature_names is not None:
            model.feature_names_in_ = np.asarray(list(feature_names), dtype=object)
        model.fill_ = None
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

    def _link(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.link_ == "sigmoid":
            from scipy.special import expit

            return np.asarray(expit(raw))
        return np.exp(raw) if self.link_ == "exp" else raw

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        values["source"] = self.source_
        values["link"] = self.link_
        return values, arrays

    def _set_fitted(self, values: dict[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        self.source_ = str(values["source"])
        self.link_ = values["link"]
        if self.link_ not in LINKS:
            raise ModelError(f"the link {self.link_!r:.100} is not one of {', '.join(LINKS)}")
