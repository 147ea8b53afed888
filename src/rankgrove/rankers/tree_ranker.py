"""What every ranker made of trees shares: the ensemble, its scorer, importances, model state."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.rankers.base import Arrays, BaseRanker
from rankgrove.rankers.declaration import ranker
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.scorer import Scorer, check_ensemble


@ranker
class TreeRanker(BaseRanker):
    """A ranker whose raw scores are those of its ``ensemble_``; subclasses set it in ``fit``."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def compile(self) -> Scorer:
        """Return the prepared scorer of the ensemble, for serving (``predict`` uses it by itself).

        It gives raw scores: the same as ``predict`` unless the ranker turns several outputs into
        one score.
        """
        self._check_fitted()
        return self._tree_scorer()

    def _tree_scorer(self) -> Scorer:
        scorer: Scorer | None = self.__dict__.get("_scorer")
        if scorer is None or scorer.ensemble is not self.ensemble_:
            scorer = self._scorer = self._make_scorer()
        return scorer

    def _make_scorer(self) -> Scorer:
        return Scorer(
            self.ensemble_, self.fill_, feature_names=getattr(self, "feature_names_in_", None)
        )

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Share of each feature in the total gain of all splits (all 0 if nothing was split)."""
        return self.importances("gain")

    def importances(
        self,
        kind: str = "gain",
        X: Any = None,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        metric: Any = "ndcg@10",
        n_repeats: int = 5,
        random_state: Any = 0,
    ) -> npt.NDArray[np.float64]:
        """Importance of each feature.

        Parameters
        ----------
        kind : ``"gain"`` (share of the total gain of splits), ``"split"`` (share of the number of
            splits) or ``"permutation"`` (mean loss of the metric when the column is shuffled)
        X, y, qid, group_sizes : data to permute; only for ``"permutation"``
        metric : what a permutation may spoil
        n_repeats : shuffles per feature
        random_state : seed of the shuffles
        """
        self._check_fitted()
        if kind == "permutation":
            from rankgrove.rankers.permutation import permutation_importances

            return permutation_importances(
                self, X, y, qid, group_sizes, metric, n_repeats, random_state
            )
        if kind not in ("gain", "split"):
            raise ValueError(f"kind must be 'gain', 'split' or 'permutation', not {kind!r}")
        total = self.ensemble_.importances(kind)
        return total / total.sum() if total.sum() > 0 else total

    def _link(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Turn raw scores of the ensemble into one score per row."""
        return raw

    def _output_meaning(self) -> Hashable:
        """What the outputs stand for, beyond their number: models that differ in it do not add."""
        return None

    def _scores(self, X: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return self._link(self._tree_scorer().predict(X, n_jobs=self.n_jobs))

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        for field in fields(TreeEnsemble):
            if field.name != "n_features":
                arrays[f"trees/{field.name}"] = getattr(self.ensemble_, field.name)
        return values, arrays

    def _set_fitted(self, values: dict[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        self.ensemble_: TreeEnsemble = TreeEnsemble(
            n_features=self.n_features_in_,
            **{
                field.name: arrays[f"trees/{field.name}"]
                for field in fields(TreeEnsemble)
                if field.name != "n_features"
            },
        )
        check_ensemble(self.ensemble_)
