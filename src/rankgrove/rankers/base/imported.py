"""A ranker that another library trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import CategoriesByColumn
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataError, ModelError
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitted import Arrays
from rankgrove.rankers.base.fitting import FitResult
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.links import ScalarLink


@register_ranker("imported", listed=False)
class ImportedRanker(BaseRanker):
    """Trees of another library's model, with the scores that library gives.

    Made by ``rankgrove.from_lightgbm`` and its siblings; it scores, saves, loads and explains like
    a ranker that was trained here, but cannot be fitted.

    Attributes
    ----------
    source_ : the library that trained the model
    """

    family: ClassVar[str] = "imported"
    can_be_bagged: ClassVar[bool] = False

    @classmethod
    def from_ensemble(
        cls,
        ensemble: TreeEnsemble,
        source: str,
        *,
        link: str = "identity",
        feature_names: Sequence[str] | None = None,
        missing_up_to: npt.NDArray[np.float32] | None = None,
        categories: CategoriesByColumn | None = None,
    ) -> ImportedRanker:
        """Wrap trees; ``source`` names the library they come from (see TreesModel for the rest)."""
        names = None if feature_names is None else tuple(str(name) for name in feature_names)
        try:
            columns = Columns(names, ensemble.n_features, categories=categories or {})
        except DataError as error:
            raise ModelError(str(error)) from error
        model = TreesModel(
            columns=columns,
            ensemble=ensemble,
            link=ScalarLink(link),
            missing_up_to=missing_up_to,
        )
        ranker = cls(**{})
        ranker.replace_fitted(FitResult(model, {"source_": source}))
        return ranker

    def fit(self, X: Any, y: Any = None, qid: Any = None, **_: Any) -> ImportedRanker:
        """Refuse: an imported model is trained already."""
        raise self._refusal()

    def _check_labels(self, data: RankingInput) -> None:
        raise self._refusal()

    def _refusal(self) -> ModelError:
        return ModelError(
            f"this model was trained by {getattr(self, 'source_', 'another library')}: to go on "
            "from it, pass it as init_model to a boosted ranker"
        )

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        return {**values, "source": self.source_}, arrays

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        self.source_ = str(values["source"])
