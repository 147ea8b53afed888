"""The base of rankers of trees: how they split on categorical columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import DEFAULT_CATEGORIES, MAX_CATEGORIES
from rankgrove.data.core.category_maps import looked_up
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.names import unused_name
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.models.folding import folded
from rankgrove.models.model import Model
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.estimator import BaseRanker, DerivedColumns
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.parameters import Choice, Integer, Real
from rankgrove.rankers.base.query_samples import distinct_queries
from rankgrove.training.ordered_statistics import OrderedStatistics, ordered_statistics
from rankgrove.workers.row_shard import RowShard

MANY_CATEGORIES = 100  # more of them have target statistics unless the user decides
_STATISTICS = ("statistics_orders", "statistics_prior", "statistics_smoothing")


@declared
class TreeRanker(BaseRanker):
    """Base of the rankers of trees."""

    takes_categories: ClassVar[bool] = True
    _auto_statistics: ClassVar[bool] = False  # whether category_splits="auto" may use statistics

    max_categories: int = param(
        DEFAULT_CATEGORIES,
        Integer(2, MAX_CATEGORIES),
        "maximum number of distinct categories of a column; the rarest others share one",
    )
    category_splits: str = param(
        "auto",
        Choice("auto", "subsets", "statistics", "both"),
        "how splits use categorical columns: by sets of categories, by a threshold on ordered "
        "target statistics (docs/how-to/categorical.md), or by whichever gains more (both); auto: "
        f"sets, and in boosted rankers both for columns of more than {MANY_CATEGORIES} categories",
    )
    statistics_orders: int = param(
        1,
        Integer(1, 1000),
        "random orders of the queries whose target statistics are averaged; which number is best "
        "depends on the data",
    )
    statistics_prior: float = param(
        0.0,
        Real(-1e30, 1e30),
        "target statistic of an unknown category (0: its documents are as good as their queries)",
    )
    statistics_smoothing: float = param(
        10.0, Real(0, 1e12, above=True), "weight of the prior in target statistics, in documents"
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = super()._unused_parameters(data)
        if not data.columns.categories:
            names = ("max_categories", "category_splits", *_STATISTICS)
            return {**unused, **dict.fromkeys(names, "without categorical columns")}
        if not self._statistic_columns(data):
            unused |= dict.fromkeys(_STATISTICS, self._without_statistics())
        return unused

    def _without_statistics(self) -> str:
        if self.category_splits == "subsets":
            return "with category_splits='subsets'"
        return "with category_splits='auto', which uses no statistics here"

    def _derive_columns(self, fit: Fit) -> DerivedColumns | None:
        """Return the columns of target statistics, if they are wanted."""
        data = fit.data
        columns = self._statistic_columns(data)
        if not columns:
            return None
        kept = getattr(self, "warm_start", False) and self.__sklearn_is_fitted__()
        if (kept or fit.init_model is not None) and self.category_splits == "statistics":
            raise ModelError(
                "a model is continued on the columns that it has: category_splits='both' adds "
                "ordered target statistics"
            )
        distinct = distinct_queries(data)
        found = ordered_statistics(
            distinct,
            columns,
            fit.shard if distinct is data else RowShard.of(distinct.groups.offsets, None),
            n_orders=self.statistics_orders,
            prior=self.statistics_prior,
            smoothing=self.statistics_smoothing,
            seed=fit.seed,
        )
        return StatisticColumns(data.columns, found, keeps=self.category_splits != "statistics")

    def _statistic_columns(self, data: RankingInput) -> list[int]:
        """Return the columns with ordered target statistics."""
        if self.category_splits == "subsets":
            return []
        least = 0
        if self.category_splits == "auto":
            if not self._auto_statistics:
                return []
            least = MANY_CATEGORIES + 1
        return [j for j, known in sorted(data.X.categories.items()) if known.n_codes >= least]


@dataclass(frozen=True)
class StatisticColumns(DerivedColumns):
    """Columns of target statistics after (or, unless it ``keeps`` them, instead of) categories.

    A threshold on a statistic splits the categories into those with less and those with more. So
    the model needs no statistics: such splits become sets of categories.
    """

    columns: Columns
    found: dict[int, OrderedStatistics]
    keeps: bool

    @property
    def kept(self) -> list[int]:
        """The columns of the data that training sees, before the statistics."""
        return [j for j in range(self.columns.count) if self.keeps or j not in self.found]

    def training(self, data: RankingInput) -> RankingInput:
        """Return training data with the ordered statistics."""
        extra = np.stack([one.training for one in self.found.values()], axis=1)
        return self._extended(data, extra)

    def evaluated(self, data: RankingInput) -> RankingInput:
        """Return data to be scored with the statistics over all training documents."""
        columns = []
        for j, one in self.found.items():
            codes = data.X.take_columns(j, j + 1)[:, 0]
            values = looked_up(one.table, codes)
            columns.append(np.where(np.isnan(codes), one.prior, values))
        return self._extended(data, np.stack(columns, axis=1))

    def _extended(self, data: RankingInput, extra: npt.NDArray[np.float32]) -> RankingInput:
        names = None
        if data.columns.names is not None:
            names = tuple(data.columns.names[j] for j in self.kept)
            for j in self.found:
                names += (unused_name(f"{data.columns.names[j]} (statistic)", names),)
        count = self.columns.count
        X = data.X.with_more_columns(extra)
        if not self.keeps:
            X = X.select_columns([*self.kept, *range(count, count + len(self.found))])
        X = X.with_names(names)
        return replace(
            data, X=X, columns=Columns(names, X.n_columns, categories=dict(X.categories))
        )

    def folded(self, model: Model) -> Model:
        """Return the model on the columns of the data."""
        tables = [(j, one.table, one.prior) for j, one in self.found.items()]
        return folded(model, self.columns, self.kept, tables)
